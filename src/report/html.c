/* html.c - escaping, numbers, and the frame of a page with its style.
 *
 * One style for light and dark: everything is drawn in variables, which the dark scheme replaces.
 * The colours of methods are those of Okabe and Ito, which colour-blind readers can tell apart,
 * made lighter where the paper is dark. */
#include "report/html.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

/* Bytes of the UTF-8 character at s, or 0 where it is none that XML allows. */
static size_t character(const unsigned char *s, size_t left)
{
    size_t n = *s < 0x80 ? 1 : *s >= 0xF0 ? 4 : *s >= 0xE0 ? 3 : *s >= 0xC2 ? 2 : 0;
    if (n == 0 || n > left || *s > 0xF4) return 0;
    unsigned code = n == 1 ? *s : *s & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (s[i] & 0x3Fu);
    }
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool control = (code < 0x20 && code != '\n' && code != '\t') || code == 0x7F;
    bool wrong = code < least[n] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ||
                 (code & 0xFFFE) == 0xFFFE;
    return control || wrong ? 0 : n;
}

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void html_text(text *out, const char *s)
{
    size_t n = strlen(s);
    while (n > 0) {
        size_t bytes = character((const unsigned char *)s, n);
        const char *name = entity(*s);
        if (name)
            text_add(out, "%s", name);
        else if (bytes)
            text_add_n(out, s, bytes);
        else
            text_add(out, "\xEF\xBF\xBD");
        s += bytes ? bytes : 1;
        n -= bytes ? bytes : 1;
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

void html_fixed(text *out, double x, int decimals)
{
    char digits[64];
    if (isnan(x)) {
        text_add(out, "–");
        return;
    }
    snprintf(digits, sizeof digits, "%.*f", decimals, fabs(x));
    bool zero = strspn(digits, "0.") == strlen(digits);
    text_add(out, "%s%s", x < 0 && !zero ? "−" : "", digits);
}

void html_like(text *out, double x, double model)
{
    double size = fabs(model);
    if (size >= 1e7 || (size > 0 && size < 1e-3))
        text_add(out, "%.2e", x);
    else
        html_fixed(out, x, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

void html_number(text *out, double x)
{
    html_like(out, x, x);
}

void html_duration(text *out, double seconds)
{
    if (isnan(seconds))
        text_add(out, "–");
    else if (seconds < 120)
        text_add(out, "%.1f s", seconds);
    else if (seconds < 7200)
        text_add(out, "%.1f min", seconds / 60);
    else
        text_add(out, "%.1f h", seconds / 3600);
}

/* ---- the frame ------------------------------------------------------------------------------- */

static const char STYLE[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1c2127;--soft:#5b6570;--line:#d9dee3;"
    "--shade:#f5f7f9;--hot:#0072b2;--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#b04a86;"
    "--c4:#8a6d00;--c5:#2f8fcb;--c6:#6b7280;--c7:#7a3b00}\n"
    "@media screen and "
    "(prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e4e8ec;--soft:#9aa5b1;"
    "--line:#343c45;--shade:#1d232a;--hot:#56b4e9;--c0:#56b4e9;--c1:#ff8c42;--c2:#2ecc9b;"
    "--c3:#e79fc6;--c4:#e8c547;--c5:#9ad0f5;--c6:#a8b0ba;--c7:#d9a066}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:15px/1.55 system-ui,-apple-system,\"Segoe UI\",\"DejaVu Sans\",sans-serif}\n"
    "main{max-width:1080px;margin:0 auto;padding:24px 20px 64px}\n"
    "h1{font-size:26px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}\n"
    "h2{font-size:20px;margin:52px 0 8px;padding-top:14px;border-top:1px solid var(--line);"
    "overflow-wrap:anywhere}\n"
    "h3{font-size:15px;margin:28px 0 6px}h4{font-size:14px;font-weight:600;margin:16px 0 4px}\n"
    "p{margin:6px 0;max-width:76ch}.note{color:var(--soft);font-size:13px}\n"
    "a{color:var(--hot)}code,pre{font:12.5px/1.5 ui-monospace,\"DejaVu Sans Mono\",monospace}\n"
    "pre{background:var(--shade);padding:10px 12px;border-radius:6px;overflow-x:auto;margin:6px 0;"
    "max-height:420px}\n"
    ".wide{overflow-x:auto;margin:8px 0}\n"
    "table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}\n"
    "th{font-weight:600;color:var(--soft);font-size:12.5px;vertical-align:bottom}\n"
    "th,td{padding:5px 14px 5px 0;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--line)}\n"
    "th:first-child,td:first-child,.left{text-align:left}\n"
    "td small{color:var(--soft);font-size:12px}td.path{font-size:12.5px}\n"
    ".key{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:7px;"
    "background:currentColor;vertical-align:-1px}\n"
    ".legend{display:flex;flex-wrap:wrap;gap:2px 18px;font-size:13.5px;margin:10px 0 2px}\n"
    ".plot{padding:8px 8px 42px 58px;position:relative}.plot.ends{padding-right:128px}\n"
    ".frame{position:relative;height:300px}.small .frame{height:170px}\n"
    ".frame svg{position:absolute;width:100%;height:100%;overflow:visible}\n"
    ".frame path{fill:none;stroke:currentColor;vector-effect:non-scaling-stroke;stroke-width:2;"
    "stroke-linejoin:round}\n"
    ".frame .grid{color:var(--line);stroke-width:1}.frame .band{fill:currentColor;stroke:none;"
    "fill-opacity:.15}\n"
    ".frame .spot{stroke-width:16;stroke-opacity:0;stroke-linecap:round;pointer-events:stroke}"
    ".frame .spot:hover{stroke-opacity:.35}.frame .raw{stroke-width:1;stroke-opacity:.3}\n"
    ".frame .dots{stroke-width:4.5;stroke-linecap:round}.frame .thin{stroke-width:1.3}\n"
    ".tick,.end,.name{position:absolute;font-size:12px;line-height:14px;color:var(--soft);"
    "white-space:nowrap}\n"
    ".tick.y{right:100%;margin-right:8px;transform:translateY(-50%)}\n"
    ".tick.x{top:100%;margin-top:6px;transform:translateX(-50%)}\n"
    ".name{left:0;right:0;top:100%;margin-top:23px;text-align:center}\n"
    ".end{left:100%;margin-left:8px;transform:translateY(-50%);max-width:118px;overflow:hidden;"
    "text-overflow:ellipsis;font-weight:600}\n"
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));"
    "gap:4px 28px}\n"
    ".heat{max-width:340px;padding:0 0 30px 44px;margin:6px 0}\n"
    ".heat .frame{height:auto;aspect-ratio:1;border:1px solid var(--line)}\n"
    ".heat svg{color:var(--hot)}.heat .frame path{stroke-width:1;"
    "vector-effect:none}\n"
    ".scroll{overflow-x:auto}.causal{min-width:760px;width:100%;max-width:980px;height:auto}\n"
    "details{margin:8px 0}summary{cursor:pointer;color:var(--soft);font-size:13.5px}\n"
    "details[open]>summary{color:var(--ink)}\n"
    "nav{font-size:14px;margin:10px 0}\n"
    "@media(max-width:640px){main{padding:16px 14px 48px}.plot,.plot.ends{padding-right:16px}"
    ".plot{padding-left:46px}.end,.spare{display:none}.frame{height:230px}h1{font-size:22px}}\n"
    "@media print{:root{color-scheme:light}.plot,.heat,.causal,tr{break-inside:avoid}"
    "h2,h3,h4,summary{break-after:avoid}pre{max-height:none;white-space:pre-wrap}"
    "main{max-width:none}.wide,.scroll{overflow:visible}.causal{min-width:0}table{font-size:10px}"
    "th,td{padding-right:8px;white-space:normal}td small,td.path{font-size:9px}"
    "td.path{overflow-wrap:anywhere}}\n"
    ".c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}"
    ".c4{color:var(--c4)}.c5{color:var(--c5)}.c6{color:var(--c6)}.c7{color:var(--c7)}"
    ".ink{color:var(--ink)}.soft{color:var(--soft)}\n";

void html_begin(text *out, const char *title)
{
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'\"/><title>");
    html_text(out, title);
    text_add(out, "</title>\n<style>\n%s</style></head>\n<body><main>\n<h1>", STYLE);
    html_text(out, title);
    text_add(out, "</h1>\n");
}

void html_end(text *out)
{
    text_add(out, "</main></body></html>\n");
}
