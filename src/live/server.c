/* server.c - libmicrohttpd, one daemon per address, driven by the caller's thread. */
#include "live/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

enum { TOKEN = 32, HOSTS = 3, ADDRESSES = 2 }; /* digits of a token */

/* Nobody honest comes near these. */
enum { CONNECTIONS = 64, IDLE_SECONDS = 15, HEADER_BYTES = 16384 };

struct server {
    struct MHD_Daemon *daemons[ADDRESSES];
    int epoll[ADDRESSES], count;
    const server_page *pages;
    server_fn *fn;
    void *user;
    char token[TOKEN + 1];
    char hosts[HOSTS][32]; /* what a request may call us */
    char url[96];
    bool served; /* since server_wait was called */
};

/* A request while it comes in. */
typedef struct incoming {
    char body[SERVER_BODY + 1];
    size_t bytes;
    bool too_long;
} incoming;

/* ---- answering ------------------------------------------------------------------------------- */

/* Nothing from elsewhere, in no frame, remembered nowhere. */
static const char *const HEADERS[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri "
     "'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
};

static enum MHD_Result send_answer(struct MHD_Connection *c, const server_answer *a)
{
    unsigned status = a->status == 200 && a->bytes == 0 ? 204 : (unsigned)a->status;
    struct MHD_Response *r =
        MHD_create_response_from_buffer(a->bytes, (void *)a->content, MHD_RESPMEM_MUST_COPY);
    if (!r) return MHD_NO;
    bool good = !a->bytes || MHD_add_response_header(r, "Content-Type", a->type);
    for (size_t i = 0; i < sizeof HEADERS / sizeof *HEADERS; i++)
        good = good && MHD_add_response_header(r, HEADERS[i][0], HEADERS[i][1]);
    if (status == 405) good = good && MHD_add_response_header(r, "Allow", "GET, HEAD, POST");
    enum MHD_Result queued = good ? MHD_queue_response(c, status, r) : MHD_NO;
    MHD_destroy_response(r);
    return queued;
}

static enum MHD_Result refuse(struct MHD_Connection *c, int status, const char *why)
{
    return send_answer(c, &(server_answer){status, "text/plain; charset=utf-8", why, strlen(why)});
}

/* ---- who asks -------------------------------------------------------------------------------- */

typedef struct header {
    const char *name, *value;
    int count;
} header;

static enum MHD_Result look_at(void *user, enum MHD_ValueKind kind, const char *name,
                               const char *value)
{
    header *h = user;
    (void)kind;
    if (strcasecmp(name, h->name)) return MHD_YES;
    h->count++;
    h->value = value ? value : "";
    return MHD_YES;
}

/* The header if it is there once; "" if it is there more often; NULL if it is missing. */
static const char *header_of(struct MHD_Connection *c, const char *name)
{
    header h = {.name = name};
    MHD_get_connection_values(c, MHD_HEADER_KIND, look_at, &h);
    return h.count == 0 ? NULL : h.count == 1 ? h.value : "";
}

static bool is_host(const server *s, const char *name)
{
    bool found = false;
    for (int i = 0; i < HOSTS; i++) found = found || !strcasecmp(name, s->hosts[i]);
    return found;
}

static bool is_origin(const server *s, const char *origin)
{
    static const char scheme[] = "http://";
    size_t n = sizeof scheme - 1;
    return !strncmp(origin, scheme, n) && is_host(s, origin + n);
}

/* Takes as long for a wrong token as for the right one. */
static bool is_token(const server *s, const char *given)
{
    int different = 0;
    if (strlen(given) != TOKEN) return false;
    for (int i = 0; i < TOKEN; i++) different |= given[i] ^ s->token[i];
    return different == 0;
}

static const server_page *page_of(const server *s, const char *path)
{
    const server_page *p = s->pages;
    while (p->path && strcmp(p->path, path)) p++;
    return p->path ? p : NULL;
}

/* Why a request is not answered; NULL: it is. */
static const char *objection(const server *s, struct MHD_Connection *c, const char *path, bool post,
                             int *status)
{
    const char *host = header_of(c, "Host"), *origin = header_of(c, "Origin");
    const char *token = header_of(c, "Fans-Token");
    *status = MHD_HTTP_FORBIDDEN;
    if (!host || !is_host(s, host)) return "This is not the host's name.\n";
    if (origin ? !is_origin(s, origin) : post) return "This page is not from here.\n";
    if (page_of(s, path)) return NULL;
    if (!token || !is_token(s, token)) return "The token is missing or wrong.\n";
    return NULL;
}

/* ---- requests -------------------------------------------------------------------------------- */

int64_t server_number(const server_request *q, const char *name, int64_t otherwise)
{
    const char *value = MHD_lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);
    char *end = NULL;
    errno = 0;
    long long n = value ? strtoll(value, &end, 10) : 0;
    return value && *value && end && !*end && !errno ? n : otherwise;
}

static enum MHD_Result answer(server *s, struct MHD_Connection *c, const char *path,
                              const incoming *in, bool post)
{
    const server_page *page = page_of(s, path);
    server_answer a = {.status = 200, .type = "application/json"};
    if (page && post) return refuse(c, 405, "This page takes no POST.\n");
    if (in->too_long) return refuse(c, 413, "A request has at most 1024 bytes.\n");
    if (page) {
        a = (server_answer){200, page->type, page->content, strlen(page->content)};
    } else {
        s->fn(s->user, &(server_request){path, post ? in->body : NULL, in->bytes, c}, &a);
    }
    return send_answer(c, &a);
}

/* libmicrohttpd calls it with the headers, then with every piece of the body, then at the end. */
static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *path,
                                  const char *method, const char *version, const char *piece,
                                  size_t *bytes, void **state)
{
    server *s = user;
    incoming *in = *state;
    bool post = !strcmp(method, "POST");
    int status;
    (void)version;
    s->served = true;
    if (!in) {
        const char *why = objection(s, c, path, post, &status);
        if (why) return refuse(c, status, why);
        if (!post && strcmp(method, "GET") && strcmp(method, "HEAD"))
            return refuse(c, 405, "Only GET, HEAD and POST are known here.\n");
        *state = in = mem_alloc(sizeof *in);
        return in ? MHD_YES : MHD_NO;
    }
    if (*bytes == 0) return answer(s, c, path, in, post);
    if (*bytes > SERVER_BODY - in->bytes) {
        in->too_long = true;
    } else {
        memcpy(in->body + in->bytes, piece, *bytes);
        in->bytes += *bytes;
    }
    *bytes = 0;
    return MHD_YES;
}

static void on_end(void *user, struct MHD_Connection *c, void **state,
                   enum MHD_RequestTerminationCode how)
{
    (void)user;
    (void)c;
    (void)how;
    mem_free(*state);
    *state = NULL;
}

/* ---- listening ------------------------------------------------------------------------------- */

static int make_token(server *s)
{
    uint8_t random[TOKEN / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return fans_fail(FANS_EIO, "no random numbers for the token: %s", strerror(errno));
    for (int i = 0; i < TOKEN / 2; i++) snprintf(s->token + 2 * i, 3, "%02x", random[i]);
    return 0;
}

static struct MHD_Daemon *start(server *s, const struct sockaddr *at, unsigned more)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | more, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, at,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
        MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_END);
}

static void keep(server *s, struct MHD_Daemon *d)
{
    if (!d) return;
    s->epoll[s->count] = MHD_get_daemon_info(d, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    s->daemons[s->count++] = d;
}

/* Where there is no IPv6, 127.0.0.1 alone. */
static int listen_at(server *s, int *port)
{
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)*port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct MHD_Daemon *first = start(s, (struct sockaddr *)&four, 0);
    if (!first)
        return fans_fail(FANS_EIO, "127.0.0.1:%d: cannot listen there: %s", *port, strerror(errno));
    keep(s, first);
    *port = MHD_get_daemon_info(first, MHD_DAEMON_INFO_BIND_PORT)->port;
    six.sin6_port = htons((uint16_t)*port);
    keep(s, start(s, (struct sockaddr *)&six, MHD_USE_IPv6));
    return 0;
}

int server_new(server **out, int port, const server_page *pages, server_fn *fn, void *user)
{
    static const char *const names[HOSTS] = {"127.0.0.1", "localhost", "[::1]"};
    int rc = 0;
    server *s = mem_alloc(sizeof *s);
    if (!s) return FANS_ENOMEM;
    s->pages = pages;
    s->fn = fn;
    s->user = user;
    TRY(make_token(s));
    TRY(listen_at(s, &port));
    for (int i = 0; i < HOSTS; i++)
        snprintf(s->hosts[i], sizeof s->hosts[i], "%s:%d", names[i], port);
    snprintf(s->url, sizeof s->url, "http://%s/#%s", s->hosts[0], s->token);
    *out = s;
out:
    if (rc < 0) server_free(s);
    return rc;
}

void server_free(server *s)
{
    if (!s) return;
    for (int i = 0; i < s->count; i++) MHD_stop_daemon(s->daemons[i]);
    mem_free(s);
}

const char *server_url(const server *s)
{
    return s->url;
}

/* ---- serving --------------------------------------------------------------------------------- */

static int serve(server *s)
{
    for (int i = 0; i < s->count; i++)
        if (MHD_run(s->daemons[i]) != MHD_YES)
            return fans_fail(FANS_EIO, "%s: the server failed: %s", s->hosts[0], strerror(errno));
    return 0;
}

/* Milliseconds until something is due. */
static int timeout(const server *s, double seconds)
{
    double most = ceil(fmax(seconds, 0) * 1e3);
    for (int i = 0; i < s->count; i++) {
        MHD_UNSIGNED_LONG_LONG due;
        if (MHD_get_timeout(s->daemons[i], &due) == MHD_YES) most = fmin(most, (double)due);
    }
    return (int)most;
}

int server_wait(server *s, double seconds)
{
    struct pollfd fds[ADDRESSES];
    for (int i = 0; i < s->count; i++) fds[i] = (struct pollfd){s->epoll[i], POLLIN, 0};
    s->served = false;
    poll(fds, (nfds_t)s->count, timeout(s, seconds));
    return serve(s);
}
