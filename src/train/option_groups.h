/* option_groups.h - every section that a config file may hold: X(function that returns the group),
 * one line a module; include its header in sections.c. */
X(env_option_group)
X(change_option_group)
X(fans_option_group)
X(fnvae_option_group)
X(oracle_option_group)
X(model_option_group)
X(train_option_group)
X(sac_option_group)
X(replay_option_group)
