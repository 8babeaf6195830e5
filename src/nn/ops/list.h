/* list.h - the operators: X(name, how it works). Each is one file, ops/name.c.
 *
 * How it works (nn_work in op.h) says what else there must be, or it does not compile or link:
 *   ROWS              rows_name and rows_name_back in cuda/
 *   REPEATS           these, and name_backward
 *   COST              name_forward and rows_name_back
 *   WHOLE or PRODUCT  name_forward and name_backward */
X(linear, PRODUCT)
X(fold_mask, WHOLE)
X(lstm, PRODUCT)
X(conv2d, PRODUCT)
X(conv2d_transpose, PRODUCT)
X(gate, ROWS)
X(gate_open, ROWS)
X(activate, ROWS)
X(add, REPEATS)
X(sub, REPEATS)
X(mul, REPEATS)
X(broadcast, REPEATS)
X(affine, ROWS)
X(clip, ROWS)
X(concat, ROWS)
X(slice, ROWS)
X(shift, WHOLE)
X(hold, WHOLE)
X(pick, WHOLE)
X(gather, ROWS)
X(detach, ROWS)
X(grad_scale, ROWS)
X(gauss_sample, ROWS)
X(squash_logp, ROWS)
X(min, ROWS)
X(td_target, ROWS)
X(mean, COST)
X(mse, COST)
X(l1, COST)
X(gauss_nll, COST)
X(gauss_kl, COST)
X(auto_weight, ROWS)
