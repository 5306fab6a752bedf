// Annotations of a recording: a rating that is sampled while it plays, and spans with a label and a text. The page of
// participants and that of replays have them alike. This file must not know where a recording comes from.

/** The most samples of a rating: they fit one answer. */
const MOST_SAMPLES = 12_000;
/** The most characters about a span. */
const MOST_CHARACTERS = 400;
/** The step of the keys that move the rating. */
const RATING_STEP = 5;

const make = (name, text, attributes = {}) => {
  const made = Object.assign(document.createElement(name), { textContent: text ?? '' });
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
/** A time within a recording, such as `1:05.2`. */
const clock = seconds => `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, '0')}`;

/**
 * The rating and the spans of one recording. `player` has `first`, `end` and `hz`, `tick`, and `seek(tick)`; it calls
 * `follow` at every tick that it shows. `changed` is called after every change.
 */
class Annotator {
  constructor(host, { rate, mark }, words, player, changed) {
    Object.assign(this, { rate, mark, words, player, changed, spans: [], begun: null, value: null, isLocked: false });
    this.every = rate ? Math.max(1, Math.round(rate.every_ms / 1000 * player.hz), Math.ceil((player.end - player.first) / MOST_SAMPLES)) : 0;
    this.values = [];
    this.strip = make('canvas', '', { class: 'annotations', 'aria-hidden': 'true' });
    host.append(...(rate ? [this.makeRating()] : []), this.strip, ...(mark ? [this.makeMarks()] : []));
    this.paintAgain = new ResizeObserver(() => this.paint());
    this.paintAgain.observe(this.strip);
    this.over = new AbortController();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.paint(), { signal: this.over.signal });
  }

  /** Listens to nothing any more: its element is gone. */
  close() {
    this.over.abort();
    this.paintAgain.disconnect();
  }

  makeRating() {
    const block = make('div', '', { class: 'rate' });
    const label = make('label', this.rate.question, { class: 'question', for: 'film-rating' });
    this.slider = make('input', '', { id: 'film-rating', type: 'range', min: 0, max: 100, step: 1, value: 50, class: 'untouched' });
    this.slider.addEventListener('input', () => this.setValue(this.slider.valueAsNumber));
    const ends = make('div', '', { class: 'ends', 'aria-hidden': 'true' });
    ends.append(make('span', this.rate.low), make('span', this.rate.high));
    block.append(label, this.slider, ends, make('p', this.words.film_rate_hint, { class: 'hint' }));
    this.tellValue();
    return block;
  }

  makeMarks() {
    const block = make('div', '', { class: 'marks' });
    this.button = make('button', this.words.film_mark_begin, { type: 'button', class: 'secondary mark' });
    this.button.addEventListener('click', () => this.toggleMark());
    this.list = make('ol', '', { class: 'spans' });
    block.append(make('p', this.words.film_mark_hint, { class: 'hint' }), this.button, this.list);
    return block;
  }

  /** Takes a key press of the whole page; true if it meant something here. */
  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(TEXTAREA|SELECT)$/.test(event.target.tagName)) return false;
    if (event.target.tagName === 'INPUT' && event.target.type === 'text') return false;
    const step = { ArrowUp: RATING_STEP, ArrowDown: -RATING_STEP }[event.key];
    if (step && this.rate && !this.isLocked) this.setValue((this.value ?? 50) + step);
    else if (event.key.toLowerCase() === 'm' && this.mark) {
      // A key that is held down begins one span, and does not end it.
      if (!event.repeat) this.toggleMark();
    } else return false;
    event.preventDefault();
    return true;
  }

  setValue(value) {
    this.value = Math.max(0, Math.min(100, Math.round(value)));
    this.slider.value = this.value;
    this.tellValue();
  }

  tellValue() {
    this.slider.classList.toggle('untouched', this.value === null);
    const said = this.value === null ? '–' : String(this.value);
    this.slider.setAttribute('aria-valuetext', `${this.rate.low} 0, ${this.rate.high} 100: ${said}`);
  }

  /** The number of the last sample at or before a tick. */
  sampleAt(tick) {
    return Math.floor((tick - this.player.first) / this.every);
  }

  /** True if the whole recording is rated. */
  isRated() {
    return this.values.length > this.sampleAt(this.player.end);
  }

  /** The recording shows a tick; while it plays, the rating is sampled. */
  follow(tick, isPlaying) {
    if (this.rate && isPlaying && !this.isLocked) {
      const to = this.sampleAt(tick);
      // A rating belongs to a tick that was shown: after a jump, it continues at the next sample.
      const isJump = this.before === undefined || tick < this.before;
      const from = isJump ? Math.ceil((tick - this.player.first) / this.every) : this.sampleAt(this.before) + 1;
      for (let at = from; at <= to; at++) {
        while (this.values.length < at) this.values.push(null);
        this.values[at] = this.value;
      }
    }
    this.before = isPlaying ? tick : undefined;
    this.paint();
  }

  /** Lets nobody change the rating any more. */
  lock() {
    this.isLocked = true;
    if (this.slider) this.slider.disabled = true;
  }

  toggleMark() {
    const { tick } = this.player;
    if (this.begun === null) {
      if (this.spans.length >= this.mark.most) return;
      this.begun = tick;
    } else {
      const [first, end] = [Math.min(this.begun, tick), Math.max(this.begun, tick)];
      this.begun = null;
      this.spans.push({ first, end, label: this.mark.labels[0]?.value ?? '', text: '' });
      this.player.pause?.();
      this.showSpans();
      this.list.lastElementChild.querySelector('select, textarea').focus();
    }
    this.button.textContent = this.begun === null ? this.words.film_mark_begin : this.words.film_mark_end;
    this.button.classList.toggle('begun', this.begun !== null);
    this.paint();
    this.changed();
  }

  showSpans() {
    this.list.replaceChildren(...this.spans.map((span, at) => this.makeSpan(span, at)));
  }

  makeSpan(span, at) {
    const entry = make('li');
    const times = [span.first, span.end].map(tick => clock((tick - this.player.first) / this.player.hz));
    const show = make('button', times.join(' – '), { type: 'button', class: 'span-link', title: this.words.film_mark_show });
    show.addEventListener('click', () => this.player.seek(span.first));
    const head = make('div', '', { class: 'head' });
    head.append(show);
    if (this.mark.labels.length) {
      const select = make('select', '', { 'aria-label': this.words.film_mark_label });
      select.append(...this.mark.labels.map(({ value, text }) => make('option', text, { value })));
      select.value = span.label;
      select.addEventListener('change', () => { span.label = select.value; this.changed(); });
      head.append(select);
    }
    const remove = make('button', this.words.film_mark_remove, { type: 'button', class: 'span-link' });
    remove.addEventListener('click', () => {
      this.spans.splice(at, 1);
      this.showSpans();
      this.paint();
      this.changed();
    });
    head.append(remove);
    const question = make('label', this.mark.question, { class: 'question' });
    const text = make('textarea', '', { rows: 2, maxlength: MOST_CHARACTERS });
    text.value = span.text;
    text.addEventListener('input', () => { span.text = text.value; this.changed(); });
    question.append(text);
    entry.append(head, question);
    return entry;
  }

  /** The spans, and the rating as a line, over the time of the recording. */
  paint() {
    const { strip, player } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [strip.clientWidth, strip.clientHeight].map(css => Math.round(css * ratio));
    if (!width || !height) return;
    Object.assign(strip, { width, height });
    const context = strip.getContext('2d');
    const style = getComputedStyle(document.documentElement);
    const color = name => style.getPropertyValue(name).trim();
    const x = tick => (tick - player.first) / Math.max(1, player.end - player.first) * (width - 2 * ratio) + ratio;
    const bars = this.begun === null ? this.spans : [...this.spans, { first: Math.min(this.begun, player.tick), end: Math.max(this.begun, player.tick) }];
    context.fillStyle = color('--brand');
    context.globalAlpha = .3;
    for (const { first, end } of bars) context.fillRect(x(first), 0, Math.max(3 * ratio, x(end) - x(first)), height);
    context.globalAlpha = 1;
    context.strokeStyle = color('--brand');
    context.lineWidth = 2 * ratio;
    context.beginPath();
    let isDown = false;
    this.values.forEach((value, at) => {
      if (value === null) return (isDown = false);
      const [left, top] = [x(player.first + at * this.every), (1 - value / 100) * (height - 4 * ratio) + 2 * ratio];
      if (isDown) context.lineTo(left, top);
      else context.moveTo(left, top);
      isDown = true;
    });
    context.stroke();
    context.fillStyle = color('--ink');
    context.fillRect(x(player.tick) - ratio / 2, 0, Math.max(1, ratio), height);
  }

  /** What was annotated, as answers: names, and values as JSON. */
  answers() {
    const { first } = this.player;
    const samples = { first, every_ticks: this.every, values: this.values };
    const spans = this.spans.map(span => ({ ...span, text: span.text.trim() }));
    return [
      ...(this.rate && this.values.length ? [{ name: 'rating', value: JSON.stringify(samples) }] : []),
      ...(this.mark ? [{ name: 'marks', value: JSON.stringify(spans) }] : []),
    ];
  }

  /** Takes up what was annotated before. */
  restore(answers) {
    const of = name => JSON.parse(answers.find(answer => answer.name === name)?.value ?? 'null');
    const [samples, spans] = [of('rating'), of('marks')];
    if (samples && this.rate) {
      this.values = samples.values;
      const last = this.values.at(-1) ?? null;
      if (last !== null) this.setValue(last);
    }
    if (spans && this.mark) {
      this.spans = spans;
      this.showSpans();
    }
    this.paint();
  }

  /** What is missing, as a sentence; nothing if all is there. */
  problem() {
    if (this.rate && !this.isRated()) return this.words.film_rate_left;
    if (!this.mark) return undefined;
    const isWhole = this.spans.length >= this.mark.least && this.spans.every(span => span.text.trim());
    return isWhole ? undefined : fill(this.words.film_marks_left, { count: this.mark.least });
  }
}
export { Annotator, clock, make };
