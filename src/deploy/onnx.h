/* onnx.h - writes a program as an ONNX model: opset 17, IR 8.
 *
 *     obs last_action reward change seen state_in → actions belief state_out
 *
 * or those of them that the program has. Every tensor is (N, ·) floats, for N lives at a time; a
 * state of zeros is a new life. Operators are spelled out, gates of an LSTM too, because that is
 * what most converters read. */
#ifndef DEPLOY_ONNX_H
#define DEPLOY_ONNX_H

#include "deploy/program.h"

/* The file's bytes; free them with mem_free. */
int onnx_write(const program *p, const char *name, void **bytes, size_t *n);

#endif
