/* fuzz_live.c - what a browser may ask of the live page, beyond the server's door: an input has a
 * request a line, `G` and a path with its query, `P` and what is posted to /control, `Q` the same
 * to elsewhere; `S` lets some time pass. Two agents that were trained for a moment answer. */
#define _GNU_SOURCE
#include <microhttpd.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "fans/fans.h"
#include "fuzz.h"
#include "live/live.h"

enum { AGENTS = 2, MOST_REQUESTS = 60, MOST_TIMES = 3, LONGEST_LINE = 1200 };

static const char TASK[] = "[env]\nname = pendulum\nhorizon = 10\n"
                           "[change.torque]\nclock = episode\nfunction = choice\nvalues = -1, 1\n"
                           "[train]\nepisodes = 40\n"
                           "[sac]\nwidth = 8\nbatch = 4\nrandom_steps = 10\n"
                           "[fans]\ninitial = 40\n[fnvae]\nwindow = 5\nbatch = 2\nupdates = 2\n"
                           "encode = 3\nencoder = 6\nlstm = 6\nprior = 4\nbank = 4\ndense = 6\n";

static char folder[64], runs[AGENTS][96];
static live *page;
static long asked; /* requests, by all inputs */

/* ---- two agents ------------------------------------------------------------------------------ */

static int learn(fans_trainer *t, fans_worlds *w)
{
    fans_view v = {.size = sizeof v};
    int rc = fans_worlds_view(w, &v);
    while (rc == 0) {
        rc = fans_trainer_act(t, v.obs, v.change, v.factors, v.action);
        if (rc == 0) rc = fans_trainer_update(t);
        if (rc == 0) rc = fans_worlds_step(w);
        if (rc == 0)
            rc = fans_trainer_observe(t, NULL, v.reward, v.terminated, v.truncated, v.final_obs);
    }
    return rc == FANS_ESTOP ? 0 : rc;
}

static int make_run(const char *algo, const char *out)
{
    fans_config *c = NULL;
    fans_worlds *w = NULL;
    fans_trainer *t = NULL;
    int rc = fans_config_new(&c, FUZZ_FOLDER "/task.ini", NULL);
    if (rc == 0) rc = fans_config_set(c, "train.algo", algo);
    if (rc == 0) rc = fans_worlds_open(&w, c, 1, 1);
    if (rc == 0) rc = fans_trainer_new(&t, NULL, c, out);
    if (rc == 0) rc = learn(t, w);
    fans_trainer_free(t);
    fans_worlds_free(w);
    fans_config_free(c);
    return rc;
}

static void prepare(void)
{
    static const char *const algos[AGENTS] = {"fans", "sac"};
    static text_list folders, settings;
    const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir;
    snprintf(folder, sizeof folder, "%s/fuzz-live-XXXXXX", memory);
    fuzz_demand(mkdtemp(folder) != NULL, "no folder");
    fuzz_put("task.ini", TASK, sizeof TASK - 1);
    for (int i = 0; i < AGENTS; i++) {
        snprintf(runs[i], sizeof runs[i], "%s/%s", folder, algos[i]);
        fuzz_demand(make_run(algos[i], runs[i]) == 0, "no run");
        folders.items[folders.count++] = runs[i];
    }
    fuzz_demand(live_new(&page, &(live_setup){&folders, &settings, 1, 32}) == 0, "no page");
}

__attribute__((destructor)) static void clean(void)
{
    char command[96];
    live_free(page);
    fprintf(stderr, "%ld requests\n", asked);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (*folder && system(command)) fprintf(stderr, "%s is left\n", folder);
}

/* ---- answers --------------------------------------------------------------------------------- */

static json_t *parse(const void *bytes, size_t n)
{
    json_error_t why;
    json_t *j = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &why);
    fuzz_demand(json_is_object(j), "an answer is no JSON");
    return j;
}

/* The length of the JSON, the JSON, the pictures whose lengths it has. */
static void check_frame(const uint8_t *x, size_t bytes)
{
    fuzz_demand(bytes > 4, "a frame is short");
    size_t n = x[0] | (size_t)x[1] << 8 | (size_t)x[2] << 16 | (size_t)x[3] << 24, pictures = 0;
    fuzz_demand(n <= bytes - 4, "a frame ends early");
    json_t *j = parse(x + 4, n), *lanes = json_object_get(j, "lanes");
    fuzz_demand(json_array_size(lanes) == AGENTS, "a lane is missing");
    for (size_t i = 0; i < AGENTS; i++)
        pictures +=
            (size_t)json_integer_value(json_object_get(json_array_get(lanes, i), "picture"));
    fuzz_demand(4 + n + pictures == bytes, "a frame has another length");
    json_decref(j);
}

static void check_answer(const server_answer *a, unsigned before)
{
    fuzz_result(a->status == 200 ? 0 : FANS_EINVAL, before);
    fuzz_demand(a->status == 200 || a->status == 400 || a->status == 404, "a strange status");
    if (!strcmp(a->type, "application/octet-stream"))
        check_frame(a->content, a->bytes);
    else if (a->bytes)
        json_decref(parse(a->content, a->bytes));
}

/* ---- requests -------------------------------------------------------------------------------- */

const char *__wrap_MHD_lookup_connection_value(struct MHD_Connection *c, enum MHD_ValueKind kind,
                                               const char *name);

/* The query's, which is text here. */
const char *__wrap_MHD_lookup_connection_value(struct MHD_Connection *c, enum MHD_ValueKind kind,
                                               const char *name)
{
    static char value[LONGEST_LINE];
    size_t n = strlen(name);
    (void)kind;
    for (const char *at = (const char *)c; (at = strstr(at, name)); at += n)
        if (at[n] == '=') {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(at + n + 1, "&"), at + n + 1);
            return value;
        }
    return NULL;
}

static void ask(char *path, const char *body, size_t bytes)
{
    unsigned before = fans_error_count();
    server_answer a = {.status = 200, .type = "application/json"};
    char *query = strchr(path, '?');
    if (query) *query++ = 0;
    live_answer(page, &(server_request){path, body, bytes, query ? query : (char *)""}, &a);
    check_answer(&a, before);
    asked++;
}

static void control(const char *body, size_t bytes)
{
    char path[] = "/control";
    ask(path, body, bytes);
}

/* As every input finds it. */
static void begin(void)
{
    static const char *const orders[] = {"{\"restart\": true}", "{\"told\": true}",
                                         "{\"speed\": 30}", "{\"pause\": true}",
                                         "{\"hold\": {\"factor\": \"torque\", \"value\": null}}"};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        control(orders[i], strlen(orders[i]));
}

static void follow_line(char *line, size_t n, int *times)
{
    char elsewhere[] = "/elsewhere";
    if (*line == 'G') ask(line + 1, NULL, 0);
    if (*line == 'P' && n - 1 <= SERVER_BODY) control(line + 1, n - 1);
    if (*line == 'Q' && n - 1 <= SERVER_BODY) ask(elsewhere, line + 1, n - 1);
    if (*line == 'S' && (*times)++ < MOST_TIMES) live_advance(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int times = 0;
    fuzz_clear();
    if (!page) prepare();
    begin();
    for (int i = 0; i < MOST_REQUESTS && size > 0; i++) {
        char line[LONGEST_LINE];
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end ? (size_t)(end - data) : size, taken = n < sizeof line ? n : sizeof line - 1;
        memcpy(line, data, taken);
        line[taken] = 0;
        if (taken) follow_line(line, taken, &times);
        data += n + (end != NULL);
        size -= n + (end != NULL);
    }
    return 0;
}
