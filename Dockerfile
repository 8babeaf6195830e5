# The tool in a container, from the packages of ./dev deb:
#   docker build -t fans . && docker run --rm -v "$PWD:/data" fans train task.ini
FROM debian:12
COPY out/deb/fans_*.deb out/deb/fans-data_*.deb /tmp/
RUN apt-get update && \
    apt-get install -y --no-install-recommends ffmpeg libosmesa6 /tmp/*.deb && \
    rm -rf /var/lib/apt/lists/* /tmp/*.deb
WORKDIR /data
ENTRYPOINT ["fans"]
