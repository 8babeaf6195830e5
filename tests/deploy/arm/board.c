/* board.c - starts a Cortex-M7 in QEMU, runs a policy's self-test, and ends with its result: 0
 * where no answer is further than 1e-5 from the recorded one. No operating system and no C
 * start-up; the debugger's calls (semihosting) print and leave. */
#include <stdint.h>

#include "policy.h"

extern uint32_t stack_top;
void reset(void);

static void ask(uint32_t what, const void *with)
{
    register uint32_t r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

enum { WRITE = 4, EXIT = 0x20 };

void reset(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xF << 20; /* the floating-point unit */
    __asm__ volatile("dsb\nisb");
    float apart = policy_selftest();
    ask(WRITE, apart == 0 ? "exact\n" : "not exact\n");
    ask(EXIT, (uint32_t[]){0x20026, apart <= 1e-5f ? 0 : 1});
}

typedef struct vectors {
    uint32_t *stack;
    void (*start)(void);
} vectors;
__attribute__((section(".vectors"), used)) static const vectors at_zero = {&stack_top, reset};
