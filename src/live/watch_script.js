/* The page of `fans watch`. It asks for a frame, draws it, and asks for the next one: pictures that
   it has no time for are never made. */
"use strict";

const token = location.hash.slice(1);
const shown = 400; /* steps in a plot */
const streak = 3; /* steps in a row that make a change noticed: report/noticing.h */
const tones = ["quiet", "changed", "noticed"];
const by = id => document.getElementById(id);
const copy = id => by(id).content.firstElementChild.cloneNode(true);
const sleep = ms => new Promise(done => setTimeout(done, ms));
const nextPaint = () => new Promise(done => requestAnimationFrame(done));

let about, lanes = [], factors = [];
let news = -1, have = -1, first = 0; /* the plots hold the steps from first to have - 1 */

/* ---- asking ---- */

function ask(path, more) {
  return fetch(path, { headers: { "Fans-Token": token }, cache: "no-store", ...more });
}

/* One request at a time, and only the latest of those that wait. */
let sending = false, waiting = new Map();
async function control(name, value, key = name) {
  waiting.set(key, { [name]: value });
  if (sending) return;
  sending = true;
  while (waiting.size) {
    const [which, body] = waiting.entries().next().value;
    waiting.delete(which);
    try {
      const r = await ask("/control", { method: "POST", body: JSON.stringify(body) });
      if (!r.ok && r.status !== 204) trouble((await r.json()).error);
    } catch { trouble("That was not done: the program does not answer."); }
  }
  sending = false;
}

function trouble(text) {
  const p = by("trouble");
  if (p.textContent !== text) p.textContent = text;
  p.hidden = !text;
}

/* ---- words ---- */

const number = x => x === null || x === undefined ? "–" : x.toFixed(2).replace("-", "−");

function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/* Every so often at most, so that a screen reader can follow. */
let told = 0;
function happened(text) {
  const list = by("events"), now = performance.now();
  if (now - told < 300 && list.children.length) return;
  told = now;
  const li = document.createElement("li");
  li.textContent = text;
  list.append(li);
  while (list.children.length > 8) list.firstElementChild.remove();
}

/* ---- making the page ---- */

function makeFactor(f) {
  const box = copy("factor"), [label, slider, out, free] =
    ["label", "input", "output", "button"].map(x => box.querySelector(x));
  const at = x => (x - f.low) / (f.high - f.low), t = f.trained;
  label.textContent = f.name;
  label.htmlFor = slider.id = "slide-" + f.name;
  out.htmlFor = slider.id;
  slider.min = f.low;
  slider.max = f.high;
  slider.step = (f.high - f.low) / 200;
  slider.value = f.initial;
  free.setAttribute("aria-label", `Let ${f.name} go`);
  const where = !t ? "" : t.values.length ? `trained: ${t.values.map(number).join(", ")}`
    : `trained: ${number(t.low)} to ${number(t.high)}`;
  box.querySelector(".help").textContent = [f.help, where].filter(Boolean).join(" · ");
  box.querySelector(".help").id = "help-" + f.name;
  slider.setAttribute("aria-describedby", "help-" + f.name);
  for (const [from, to] of !t ? [] : t.values.length ? t.values.map(v => [v, v]) : [[t.low, t.high]]) {
    const span = document.createElement("span");
    span.style.setProperty("--from", at(from));
    span.style.setProperty("--to", at(to));
    box.querySelector(".trained").append(span);
  }
  const me = { f, box, slider, out, free, touched: -1e9 };
  slider.addEventListener("input", () => {
    me.touched = performance.now();
    control("hold", { factor: f.name, value: +slider.value }, f.name);
  });
  free.addEventListener("click", () => {
    me.touched = -1e9;
    control("hold", { factor: f.name, value: null }, f.name);
  });
  by(t ? "moving" : "still").append(box);
  if (!t) by("others").hidden = false;
  return me;
}

function makeTrack(lane, name) {
  const figure = copy("track");
  lane.box.querySelector(".tracks").append(figure);
  return { name, figure, values: figure.querySelector(".values"), verdict: figure.querySelector(".verdict"),
    canvas: figure.querySelector("canvas"), truth: [], guess: [], spread: [], changed: [], noticed: [] };
}

function makeLane(l, i) {
  const box = copy("lane");
  box.querySelector("h2").textContent = l.name;
  box.setAttribute("aria-label", l.name);
  const picture = box.querySelector(".picture canvas");
  picture.width = about.width;
  picture.height = about.height;
  picture.setAttribute("aria-label", `The world of ${l.name}`);
  const lane = { l, box, picture, colour: "--lane" + i % 4, reward: [], fresh: [],
    frame: box.querySelector(".picture"), verdict: box.querySelector(".picture .verdict") };
  by("lanes").append(box);
  lane.tracks = about.factors.filter(f => f.trained).sort((a, b) => a.trained.track - b.trained.track)
    .map(f => Object.assign(makeTrack(lane, f.name), { range: f.trained }));
  lane.rewards = makeTrack(lane, "reward");
  lane.rewards.figure.className = "reward";
  return lane;
}

function makePage() {
  document.title = `${about.title} – fans watch`;
  by("title").textContent = about.title;
  factors = about.factors.map(makeFactor);
  lanes = about.lanes.map(makeLane);
  by("pause").addEventListener("click", () => control("pause", by("pause").textContent === "Pause"));
  by("step").addEventListener("click", () => control("steps", 1));
  by("restart").addEventListener("click", () => control("restart", true));
  by("newest").addEventListener("click", () => control("newest", true));
  by("speed").addEventListener("change", e => control("speed", +e.target.value));
  by("told").addEventListener("change", e => control("told", e.target.checked));
}

/* ---- plots ---- */

const dark = matchMedia("(prefers-color-scheme: dark)");
let colours = {};
const colour = name => colours[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function begin(canvas) {
  const scale = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(h * scale)) {
    canvas.width = Math.round(w * scale);
    canvas.height = Math.round(h * scale);
  }
  const c = canvas.getContext("2d");
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.fillStyle = colour("--panel");
  c.fillRect(0, 0, w, h);
  c.lineJoin = "round";
  return { c, w, h };
}

const finite = x => x !== null && x !== undefined;

function extent(lists, low, high) {
  for (const list of lists) for (const x of list) if (finite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
  const some = 0.12 * (high - low) || 1;
  return [low - some, high + some];
}

/* A stair where each value lasts a step, or a line. */
function line(p, x, y, values, from, style, width, stair) {
  const { c } = p;
  c.strokeStyle = style;
  c.lineWidth = width;
  c.beginPath();
  let on = false;
  for (let t = from; t < values.length; t++) {
    if (!finite(values[t])) { on = false; continue; }
    if (on) c.lineTo(x(t), y(values[t])); else c.moveTo(x(t), y(values[t]));
    if (stair) c.lineTo(x(t + 1), y(values[t]));
    on = true;
  }
  c.stroke();
}

function band(p, x, y, track, from) {
  p.c.fillStyle = colour("--band");
  for (let t = from; t < track.guess.length; t++) {
    const g = track.guess[t], s = track.spread[t];
    if (finite(g) && finite(s)) p.c.fillRect(x(t), y(g + s), x(t + 1) - x(t), y(g - s) - y(g + s));
  }
}

function marks(p, x, track, from) {
  const { c, h } = p;
  for (let t = from; t < track.changed.length; t++) {
    c.fillStyle = colour("--change");
    if (track.changed[t]) c.fillRect(x(t) - 1, 0, 2, h);
    if (track.changed[t] > 1) {
      c.beginPath();
      c.moveTo(x(t) - 6, 0);
      c.lineTo(x(t) + 6, 0);
      c.lineTo(x(t), 9);
      c.fill();
    }
    if (!finite(track.noticed[t]) || track.noticed[t] < 0) continue;
    c.fillStyle = colour("--noticed");
    c.fillRect(x(t + 1 - streak) - 0.5, 0, 1, h - 6);
    c.beginPath();
    c.arc(x(t + 1 - streak), h - 6, 4.5, 0, 7);
    c.fill();
  }
}

function scale(p, low, high, y) {
  p.c.fillStyle = colour("--soft");
  p.c.font = "11px system-ui, sans-serif";
  for (const [x, off] of [[low, -4], [high, 13]])
    p.c.fillText(String(+x.toPrecision(3)).replace("-", "−"), 3, y(x) + off);
}

function plot(lane, track, draw, low, high) {
  const p = begin(track.canvas), from = Math.max(0, have - first - shown);
  const x = t => p.w * (t - from) / shown, y = v => p.h * (high - v) / (high - low);
  p.c.fillStyle = colour("--line");
  for (const t of lane.fresh) if (t - first >= from) p.c.fillRect(x(t - first), 0, 1, p.h);
  draw(p, x, y, from);
}

function drawTrack(lane, track) {
  const { range } = track, n = Math.max(0, have - first - shown);
  const [low, high] = extent([track.truth.slice(n)], range.low, range.high);
  plot(lane, track, (p, x, y, from) => {
    band(p, x, y, track, from);
    line(p, x, y, track.truth, from, colour("--truth"), 1.8, true);
    line(p, x, y, track.guess, from, colour("--belief"), 1.8, false);
    marks(p, x, track, from);
    scale(p, range.low, range.high, y);
  }, low, high);
}

/* All lanes on the same scale, so that heights compare. */
function drawRewards() {
  const [low, high] = extent(lanes.map(l => l.reward), Infinity, -Infinity);
  if (!isFinite(low)) return;
  for (const lane of lanes)
    plot(lane, lane.rewards, (p, x, y, from) =>
      line(p, x, y, lane.reward, from, colour("--reward"), 1.5, false), low, high);
}

/* ---- a frame ---- */

function cut(list, n) { list.splice(0, Math.max(0, list.length - n)); }

/* Steps that do not follow those at hand start the plots anew. */
function take(frame) {
  const anew = frame.from !== have || frame.step < have;
  if (anew) first = frame.from;
  lanes.forEach((lane, i) => {
    const f = frame.lanes[i];
    if (anew) lane.reward.length = lane.fresh.length = 0;
    lane.reward.push(...f.reward);
    lane.fresh.push(...f.fresh);
    lane.tracks.forEach((track, k) => {
      for (const what of ["truth", "guess", "spread", "changed", "noticed"]) {
        if (anew) track[what].length = 0;
        track[what].push(...f.tracks[k][what]);
        cut(track[what], about.kept);
      }
    });
    cut(lane.reward, about.kept);
  });
  have = frame.step;
  first = have - lanes[0].reward.length;
  for (const lane of lanes) while (lane.fresh.length && lane.fresh[0] < first) lane.fresh.shift();
  return anew;
}

function say(frame, anew) {
  if (anew) return;
  lanes.forEach((lane, i) => lane.tracks.forEach((track, k) => {
    for (const n of frame.lanes[i].tracks[k].noticed)
      if (n === 0) happened(`${lane.l.name} foresaw the change of ${track.name}`);
      else if (n > 0) happened(`${lane.l.name} noticed the change of ${track.name} after ${n} step${n === 1 ? "" : "s"}`);
  }));
}

function judge(element, text, tone, plain) {
  const name = plain + " " + tones[tone];
  if (element.className !== name) element.className = name;
  return text;
}

function showLane(lane, f, words) {
  put(lane.verdict, judge(lane.frame, f.verdict, f.tone, "picture"));
  lane.tracks.forEach(track => drawTrack(lane, track));
  if (!words) return;
  put(lane.box.querySelector(".return"), number(f.return));
  put(lane.box.querySelector(".mean"), number(f.mean));
  put(lane.box.querySelector(".count"), lane.l.without ? "–" : `${f.noticed} of ${f.changes}` +
    (finite(f.after) ? `, after ${f.after.toFixed(1)} steps` : ""));
  lane.tracks.forEach((track, k) => {
    const t = f.tracks[k], truth = track.truth.at(-1), guess = track.guess.at(-1), spread = track.spread.at(-1);
    const believed = lane.l.without ? lane.l.without
      : `believed ${number(guess)}` + (finite(spread) ? ` ± ${number(spread)}` : "");
    put(track.values, `${track.name} ${number(truth)}, ${believed}`);
    put(track.verdict, judge(track.verdict, t.verdict, t.tone, "verdict"));
  });
  put(lane.rewards.values, `reward ${number(lane.reward.at(-1))}`);
}

function showFactors(frame) {
  factors.forEach((me, k) => {
    const { now, held } = frame.factors[k];
    /* while it is being moved the hand is right */
    if (performance.now() - me.touched > 500 && +me.slider.value !== now) me.slider.value = now;
    put(me.out, number(now) + (held ? " held" : ""));
    me.slider.setAttribute("aria-valuetext", `${number(now)}${held ? ", held" : ""}`);
    me.free.disabled = !held;
  });
}

let shownFrames = 0, frames = 0, since = performance.now();
function countFrame(now) {
  frames++;
  shownFrames++;
  if (now - since < 1000) return;
  document.body.dataset.rate = (1000 * frames / (now - since)).toFixed(1);
  frames = 0;
  since = now;
}

function showClock(frame) {
  const l = frame.lanes[0];
  put(by("clock"), `episode ${Math.max(1, l.episode)}, step ${l.tau} of ${about.horizon} · ` +
    `${document.body.dataset.rate || "–"} pictures per second`);
  put(by("pause"), frame.paused ? "Resume" : "Pause");
  if (document.activeElement !== by("speed")) by("speed").value = frame.speed;
  by("told").checked = frame.told;
  trouble(frame.fault && `${frame.fault}. “Start over” begins a new lifetime.`);
}

async function drawPictures(frame, bytes, at) {
  for (let i = 0; i < lanes.length; i++) {
    const n = frame.lanes[i].picture, c = lanes[i].picture.getContext("2d");
    if (!n) {
      lanes[i].frame.hidden = true;
      continue;
    }
    const picture = await createImageBitmap(new Blob([bytes.subarray(at, at + n)], { type: "image/png" }));
    c.drawImage(picture, 0, 0);
    picture.close();
    at += n;
  }
}

/* Figures change ten times a second: faster is not read, and each time is a new layout. */
let worded = 0;
async function show(buffer) {
  const bytes = new Uint8Array(buffer), n = new DataView(buffer).getUint32(0, true);
  const frame = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + n)));
  news = frame.news;
  const anew = take(frame), now = performance.now(), words = frame.paused || now - worded > 100;
  if (words) worded = now;
  await drawPictures(frame, bytes, 4 + n);
  lanes.forEach((lane, i) => showLane(lane, frame.lanes[i], words));
  drawRewards();
  countFrame(now);
  if (words) showFactors(frame);
  if (words) showClock(frame);
  say(frame, anew);
  describe();
  document.querySelector("main").inert = false; /* now controls are as they should be */
}

/* What plots say, in words, once a second. */
let described = 0;
function describe() {
  if (performance.now() - described < 1000) return;
  described = performance.now();
  for (const lane of lanes)
    for (const track of [...lane.tracks, lane.rewards])
      track.canvas.setAttribute("aria-label",
        [track.values.textContent, track.verdict.textContent].filter(Boolean).join(", "));
}

/* ---- learning ---- */

function drawCurves(list) {
  const p = begin(by("learning")), good = list.filter(l => !l.error && l.steps);
  const most = Math.max(1, ...good.map(l => l.steps));
  const [low, high] = extent(good.map(l => l.smooth), Infinity, -Infinity);
  if (!isFinite(low)) return;
  const y = v => p.h * (high - v) / (high - low);
  list.forEach((l, i) => {
    if (l.error || !l.steps) return;
    const x = t => p.w * (t + 1) / l.smooth.length * l.steps / most;
    p.c.globalAlpha = 0.35;
    line(p, x, y, l.raw, 0, colour(lanes[i].colour), 1, false);
    p.c.globalAlpha = 1;
    line(p, x, y, l.smooth, 0, colour(lanes[i].colour), 2.2, false);
  });
  scale(p, low + 0.1 * (high - low), high - 0.1 * (high - low), y);
}

function showProgress(list) {
  const said = list.map((l, i) => l.error ? `${lanes[i].l.name}: ${l.error}`
    : `${lanes[i].l.name}: return ${number(l.final)} after ${l.steps} steps, ` +
      `${l.done ? "trained to the end" : `episode ${l.episodes} of ${l.planned}`}; ` +
      `acts as it did at step ${l.acts_by}`);
  by("progress").replaceChildren(...said.map((text, i) => {
    const li = document.createElement("li");
    li.textContent = text;
    li.style.borderColor = `var(${lanes[i].colour})`;
    return li;
  }));
  by("learning").setAttribute("aria-label", "Learning curves. " + said.join(". "));
  by("newest").hidden = !list.some(l => l.newest > l.acts_by);
}

let curves = [];
function redraw() {
  colours = {};
  news = -1;
  drawCurves(curves);
}

async function follow() {
  for (;; await sleep(3000)) {
    if (document.hidden) continue;
    try {
      curves = (await (await ask("/curves")).json()).lanes;
      drawCurves(curves);
      showProgress(curves);
    } catch { /* the other loop says so */ }
  }
}

/* ---- the whole ---- */

/* A page that cannot be seen asks for nothing. */
async function run() {
  let idle = 0;
  for (;;) {
    try {
      const r = await ask(`/frame?news=${news}&step=${have}`);
      idle = r.status === 200 ? 0 : idle + 1;
      if (r.status === 200) await show(await r.arrayBuffer()).then(nextPaint);
      else if (r.status !== 204) trouble((await r.json()).error);
      if (idle) await sleep(idle > 50 ? 60 : 2);
    } catch {
      trouble("The program does not answer: it may have ended. Trying again …");
      await sleep(1000);
    }
  }
}

async function open() {
  const r = await ask("/about");
  if (r.status === 403) return trouble("This page needs its token: open the whole address that fans watch printed.");
  about = await r.json();
  makePage();
  dark.addEventListener("change", redraw);
  addEventListener("resize", redraw);
  run();
  follow();
}
open();
