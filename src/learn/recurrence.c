/* recurrence.c - embeddings, an LSTM, and shortcuts around it. */
#include "learn/recurrence.h"

enum { EMBED_OBS = 32, EMBED_ACTION = 16, EMBED_REWARD = 16, EMBED_BOTH = 64 };

static nn_var embed(nn_group *group, const char *name, nn_list x, int units)
{
    return nn_dense(group, name, x, 1, true, units, NN_RELU);
}

nn_var recurrence_record(nn_group *group, recurrence_rows x, int units, nn_var state, nn_var reset)
{
    nn_list seen = NN_IN(embed(group, "obs", NN_IN(x.obs), EMBED_OBS),
                         embed(group, "action", NN_IN(x.action), EMBED_ACTION),
                         embed(group, "reward", NN_IN(x.reward), EMBED_REWARD), x.first);
    return nn_lstm_layer(group, "lstm", seen, units, 0, state, reset);
}

static nn_list read_policy(const void *units, nn_group *group, nn_var input)
{
    int n = *(const int *)units, d = nn_shape_of(input).D - n;
    nn_var obs = nn_slice(input, 0, d);
    return NN_IN(nn_slice(input, d, n), embed(group, "shortcut", NN_IN(obs), EMBED_OBS));
}

static nn_list read_critic(const void *units, nn_group *group, nn_var input, nn_var action)
{
    int n = *(const int *)units, d = nn_shape_of(input).D - n;
    nn_var obs = nn_slice(input, 0, d);
    return NN_IN(nn_slice(input, d, n), embed(group, "shortcut", NN_IN(obs, action), EMBED_BOTH));
}

sac_front recurrence_front(const int *units)
{
    return (sac_front){(void *)units, read_policy, read_critic};
}
