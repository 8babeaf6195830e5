/* test_canvas.c - the pen: what it covers, what it leaves alone, and letters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "env/canvas.h"
#include "env/gauge.h"

enum { W = 60, H = 40 };

static uint8_t pixels[W * H * 3];
static const ink BLACK = {0, 0, 0, 1};

static canvas blank(void)
{
    memset(pixels, 255, sizeof pixels);
    return (canvas){W, H, pixels};
}

static int grey(int x, int y)
{
    return pixels[3 * (y * W + x)];
}

/* How much ink is on the page, in pixels. */
static double ink_used(void)
{
    double sum = 0;
    for (size_t i = 0; i < sizeof pixels; i += 3) sum += (255 - pixels[i]) / 255.0;
    return sum;
}

static void fills_cover_parts_of_pixels(void **state)
{
    (void)state;
    canvas c = blank();
    canvas_fill(&c, 10.5, 10, 13, 12.25, BLACK);
    assert_int_equal(grey(11, 10), 0);
    assert_in_range(grey(10, 10), 126, 129);
    assert_in_range(grey(11, 12), 190, 193);
    assert_int_equal(grey(13, 10), 255);
    assert_true(ink_used() > 2.5 * 2.25 - 0.05 && ink_used() < 2.5 * 2.25 + 0.05);
}

static void lines_have_their_width(void **state)
{
    (void)state;
    canvas c = blank();
    canvas_line(&c, 10, 20, 50, 20, 4, BLACK);
    assert_true(ink_used() > 40 * 4 && ink_used() < 40 * 4 + 20); /* and two round ends */
    c = blank();
    canvas_ring(&c, 30, 20, 10, 2, BLACK);
    assert_int_equal(grey(30, 20), 255);
    assert_in_range(grey(39, 20), 0, 9);
}

static void what_is_outside_is_cut_off(void **state)
{
    (void)state;
    canvas c = blank();
    uint8_t black[5 * 5 * 3] = {0};
    canvas_line(&c, -1e6, -50, -10, -50, 4, BLACK);
    canvas_fill(&c, -1e9, -5, -1, 1e9, BLACK);
    canvas_copy(&c, W + 3, 3, black, 5, 5);
    canvas_text(&c, W + 10, H + 30, 10, BLACK, "outside");
    assert_true(ink_used() == 0);
    canvas_copy(&c, -3, H - 2, black, 5, 5);
    assert_true(ink_used() == 4);
    canvas_fill(&c, -1e9, -1e9, 1e9, 1e9, BLACK);
    assert_true(ink_used() == W * H);
}

static void every_letter_is_drawn_and_differs(void **state)
{
    (void)state;
    static uint8_t seen[128][sizeof pixels];
    for (char ch = '!'; ch <= '~'; ch++) {
        canvas c = blank();
        char word[2] = {ch, 0};
        double end = canvas_text(&c, 5, 25, 20, BLACK, word);
        assert_true(ink_used() > 3);
        assert_true(end - 5 == canvas_text_width(20, word));
        memcpy(seen[(int)ch], pixels, sizeof pixels);
        for (char other = '!'; other < ch; other++) {
            bool same = !memcmp(seen[(int)ch], seen[(int)other], sizeof pixels);
            bool alike = (other == '0' && ch == 'O') || (other == 'I' && ch == 'l');
            assert_true(same == alike);
        }
    }
}

static void a_strange_character_is_one_box(void **state)
{
    (void)state;
    assert_true(canvas_text_width(8, "\xC3\xA9") == canvas_text_width(8, "\x7F"));
    assert_true(canvas_text_width(8, "") == 0);
}

static void gauges_point_where_the_value_does(void **state)
{
    (void)state;
    const gauge to_the_right = {"v", "", 1, 2, {0, 0, 0, 1}},
                to_the_left = {"v", "", -1, 2, {0, 0, 0, 1}};
    int y = (int)((6 + 11) * W / 480.0), right = (int)(0.75 * W), left = (int)(0.6 * W);
    canvas c = blank();
    gauges_draw(&c, &to_the_right, 1);
    assert_true(grey(right, y) < grey(left, y));
    c = blank();
    gauges_draw(&c, &to_the_left, 1);
    assert_true(grey(right, y) > grey(left, y));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_cover_parts_of_pixels),
        cmocka_unit_test(lines_have_their_width),
        cmocka_unit_test(what_is_outside_is_cut_off),
        cmocka_unit_test(every_letter_is_drawn_and_differs),
        cmocka_unit_test(a_strange_character_is_one_box),
        cmocka_unit_test(gauges_point_where_the_value_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
