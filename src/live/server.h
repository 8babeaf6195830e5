/* server.h - HTTP for the person at this machine, and for nobody else.
 *
 * It listens on 127.0.0.1 and ::1 only, but a page from anywhere can make a browser talk to these.
 * So every request must name one of our own hosts (against rebound names), come from one of our own
 * pages if it says where from, and, unless it asks for one of the fixed pages, bring the token. The
 * token travels in the URL's fragment, which browsers do not send, and comes back in a header,
 * which pages from elsewhere cannot set: cookies would be shared between all ports.
 *
 * One thread serves it: the one that calls server_wait. */
#ifndef LIVE_SERVER_H
#define LIVE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct server server;

/* A page that is always the same and needs no token. */
typedef struct server_page {
    const char *path, *type, *content;
} server_page;

enum { SERVER_BODY = 1024 }; /* bytes of a POST, at most */

typedef struct server_request {
    const char *path;
    const char *body; /* of a POST, ended by a zero; NULL: GET */
    size_t bytes;
    void *connection;
} server_request;

/* A number of the query, or `otherwise`. */
int64_t server_number(const server_request *q, const char *name, int64_t otherwise);

/* `content` is copied; empty, with 200: 204. */
typedef struct server_answer {
    int status; /* 200 unless set */
    const char *type;
    const void *content;
    size_t bytes;
} server_answer;

/* Answers what is no fixed page; whatever it points to stays until the next call. */
typedef void server_fn(void *user, const server_request *q, server_answer *a);

/* Starts listening; port 0: any that is free. `pages` ends with path NULL. */
int server_new(server **out, int port, const server_page *pages, server_fn *fn, void *user);
void server_free(server *s);

/* Serves whoever asks, and returns after so many seconds, or earlier when something was served. */
int server_wait(server *s, double seconds);

/* Where the page is, with the token. */
const char *server_url(const server *s);

#endif
