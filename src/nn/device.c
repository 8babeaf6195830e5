/* device.c - backends and precisions by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "nn/nn.h"

static const char *const precisions[] = {
    [NN_FP32] = "fp32", [NN_TF32] = "tf32", [NN_BF16] = "bf16"};

int nn_precision_find(nn_precision *out, const char *name)
{
    nearest near = {.word = name};
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
        *out = (nn_precision)i;
        if (!strcmp(name, precisions[i])) return 0;
        nearest_offer(&near, precisions[i]);
    }
    return fans_fail(FANS_EINVAL, "--precision %s: not one of fp32, tf32 and bf16%s", name,
                     nearest_hint(&near));
}

/* "cuda" or "cuda:N". */
static int parse_cuda(const char *device, int *number)
{
    char *end;
    *number = 0;
    if (!strcmp(device, "cuda")) return 0;
    long n = !strncmp(device, "cuda:", 5) && device[5] ? strtol(device + 5, &end, 10) : -1;
    if (n < 0 || n > 1000 || *end)
        return fans_fail(FANS_EINVAL, "--device %s: not one of auto, cpu, cuda and cuda:NUMBER",
                         device);
    *number = (int)n;
    return 0;
}

int nn_device_new(nn_backend **out, const char *device, nn_precision precision, struct pool *p,
                  char *why, size_t size)
{
    nn_cuda_options o = {.precision = precision};
    bool automatic = !strcmp(device, "auto"), lower = precision != NN_FP32;
    if (why) snprintf(why, size, "%s, as asked for", device);
    if (!strcmp(device, "cpu") && lower)
        return fans_fail(FANS_EINVAL, "--precision %s needs a GPU: --device cuda",
                         precisions[precision]);
    if (!strcmp(device, "cpu")) return nn_cpu_new(out, p);
    int rc = automatic ? 0 : parse_cuda(device, &o.device);
    if (rc == 0) rc = nn_cuda_new(out, &o);
    if (rc < 0 && automatic && lower)
        return fans_fail_within(rc, "--precision %s needs a GPU", precisions[precision]);
    if (!automatic) return rc;
    if (why) snprintf(why, size, "%s", rc == 0 ? nn_backend_name(*out) : fans_error());
    return rc == 0 ? 0 : nn_cpu_new(out, p);
}
