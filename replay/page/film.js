// The recordings of a watch stage: fetched, played, annotated and compared.
import { Painter, Pictures, loadSprites } from './pictures.js';
import { Annotator, clock, make } from './annotate.js';

/** The longest step of a frame, seconds: a page that was out of sight goes on where it was. */
const LONGEST_FRAME_S = .25;

/** The time after which a rating under way is stored, seconds of the recording. */
const STORED_EACH_S = 5;

/** Fetches and reads a recording. */
async function fetchFilm(session, stage, clip) {
  const server = document.querySelector('meta[name="coplay-server"]')?.content;
  // A server may be below a path.
  const url = server ? `${server.replace(/^ws/, 'http')}/film` : new URL('film', document.baseURI);
  const answer = await fetch(url, { method: 'POST', credentials: 'omit', body: JSON.stringify({ session, stage, clip }) });
  if (!answer.ok) throw new Error(`film: ${answer.status}`);
  const raw = await new Response(answer.body.pipeThrough(new DecompressionStream('deflate'))).json();
  let sum = 0;
  const numbers = raw.pictures.map(difference => (sum += difference));
  return { ...raw, numbers, pictures: new Pictures(raw.table), sprites: await loadSprites(raw.sprites) };
}

/** The picture of one recording, with a button and a slider. */
class Player {
  constructor(film, title, words, told) {
    const { first, end, hz } = film;
    Object.assign(this, { film, first, end, hz, tick: first, words, told, isPlaying: false, isLocked: false, isWatched: false });
    this.element = make('figure', '', { class: 'clip' });
    if (title) this.element.append(make('figcaption', title));
    const room = make('div', '', { class: 'room' });
    this.canvas = make('canvas', '', { role: 'img', 'aria-label': words.film_picture });
    room.append(this.canvas);
    const [width, height] = film.pictures.size(film.numbers[0]);
    // All of it is visible together.
    room.style.maxWidth = `${(60 * width / height).toFixed(1)}vh`;
    const row = make('div', '', { class: 'row' });
    this.button = make('button', words.film_play, { type: 'button', class: 'secondary film-play' });
    this.button.addEventListener('click', () => this.toggle());
    this.scrub = make('input', '', { type: 'range', min: first, max: end, step: 1, value: first, 'aria-label': words.film_position });
    this.scrub.addEventListener('input', () => this.seek(this.scrub.valueAsNumber));
    this.time = make('output');
    row.append(this.button, this.scrub, this.time);
    this.element.append(room, row);
    this.painter = new Painter(this.canvas, film.pictures, film.sprites);
    new ResizeObserver(() => this.show()).observe(room);
  }

  /** Nobody moves within the recording before it is watched. */
  lock(isLocked) {
    this.isLocked = isLocked;
    this.scrub.disabled = isLocked;
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  pause() {
    this.isPlaying = false;
    this.button.textContent = this.words.film_play;
    this.told(this.tick, false);
  }

  play() {
    if (this.tick >= this.end && !this.isLocked) this.go(this.first, false);
    this.isPlaying = true;
    this.button.textContent = this.words.film_pause;
    let at = this.tick;
    let before;
    this.told(this.tick, true);
    const beat = now => {
      if (!this.isPlaying || !this.element.isConnected) return;
      at = Math.min(this.end, at + Math.min(LONGEST_FRAME_S, (now - (before ?? now)) / 1000) * this.hz);
      before = now;
      if (Math.floor(at) !== this.tick) this.go(Math.floor(at), true);
      if (at < this.end) return requestAnimationFrame(beat);
      this.isWatched = true;
      this.pause();
    };
    requestAnimationFrame(beat);
  }

  seek(tick) {
    if (this.isLocked) return;
    if (this.isPlaying) this.pause();
    this.go(Math.round(Math.max(this.first, Math.min(this.end, tick))), false);
  }

  go(tick, isPlaying) {
    this.tick = tick;
    this.show();
    this.told(tick, isPlaying);
  }

  show() {
    const { film, tick } = this;
    this.painter.paint(film.numbers[tick - film.first], { own: film.own === null ? 0 : film.own + 1 });
    this.scrub.value = tick;
    const [now, all] = [tick - film.first, film.end - film.first].map(ticks => clock(ticks / film.hz));
    this.scrub.setAttribute('aria-valuetext', now);
    this.time.textContent = `${now} / ${all}`;
  }
}

/** A watch stage on the page of a participant. */
class WatchStage {
  constructor(host, order, films) {
    const { task, words, draft } = order;
    Object.assign(this, { host, task, words, choice: null });
    const isPair = task.order.length > 1;
    const titles = isPair ? [words.film_left, words.film_right] : [''];
    this.players = films.map((film, at) => new Player(film, titles[at], words, (tick, isPlaying) => this.follow(at, tick, isPlaying)));
    const room = make('div', '', { class: isPair ? 'films pair' : 'films' });
    room.append(...this.players.map(player => player.element));
    this.below = make('div', '', { class: 'annotate' });
    this.status = make('p', '', { class: 'hint left', role: 'status' });
    this.next = make('button', words.onward, { type: 'button', class: 'primary' });
    this.next.addEventListener('click', () => this.finish());
    const actions = make('div', '', { class: 'actions' });
    actions.append(this.next);
    host.replaceChildren(room, this.below, this.status, actions);
    if (task.rate || task.mark) this.annotator = new Annotator(this.below, task, words, this.players[0], () => this.change());
    if (task.choose) this.below.append(this.makeChoice());
    this.restore(draft);
    const over = new AbortController();
    const press = event => (host.isConnected ? this.press(event) : over.abort());
    document.addEventListener('keydown', press, { signal: over.signal });
    over.signal.addEventListener('abort', () => this.annotator?.close());
    this.lock();
    for (const player of this.players) player.show();
    this.change();
  }

  restore(draft) {
    this.annotator?.restore(draft);
    const [player] = this.players;
    // A person who comes back continues where the rating ended.
    const { values, every } = this.annotator ?? {};
    if (this.task.rate && values.length) player.go(Math.min(player.end, player.first + values.length * every - 1), false);
    const chosen = draft.find(({ name }) => name === 'choice');
    if (chosen && this.task.choose) {
      this.choice = JSON.parse(chosen.value);
      for (const each of this.players) each.isWatched = true;
      for (const input of this.below.querySelectorAll('[name=film-choice]')) input.checked = input.value === String(this.choice);
    }
  }

  makeChoice() {
    const { task: { choose, order }, words } = this;
    const block = make('fieldset', '', { class: 'choose' });
    block.append(make('legend', choose.question, { class: 'question' }));
    const choices = order.map((clip, at) => [clip, [words.film_left, words.film_right][at]]);
    if (choose.tie) choices.splice(1, 0, ['same', words.film_same]);
    block.append(...choices.map(([value, text]) => {
      const label = make('label', '', { class: 'choice' });
      const input = make('input', '', { type: 'radio', name: 'film-choice', value });
      input.addEventListener('change', () => { this.choice = value; this.change(); });
      label.append(input, make('span', text));
      return label;
    }));
    return block;
  }

  follow(at, tick, isPlaying) {
    if (at === 0) this.annotator?.follow(tick, isPlaying);
    // What is rated so far is stored every few seconds.
    if (!isPlaying || tick >= this.players[at].end || tick % (STORED_EACH_S * this.players[at].hz) === 0) {
      this.lock();
      this.change();
    }
  }

  /** The rating is given once, from the start to the end. */
  lock() {
    if (!this.task.rate) return;
    const isRated = this.annotator.isRated();
    if (isRated) this.annotator.lock();
    this.players[0].lock(!isRated);
  }

  press(event) {
    if (this.annotator?.press(event)) return;
    const isFree = !/^(TEXTAREA|SELECT|BUTTON|INPUT)$/.test(event.target.tagName) || event.target.type === 'range';
    if (event.key === ' ' && isFree && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      if (!event.repeat) this.players[0].toggle();
    }
  }

  answers() {
    const { task: { choose, order } } = this;
    const chosen = choose && this.choice !== null
      ? [{ name: 'choice', value: JSON.stringify(this.choice) }, { name: 'left', value: JSON.stringify(order[0]) }] : [];
    return [...(this.annotator?.answers() ?? []), ...chosen];
  }

  problem() {
    if (!this.task.rate && !this.task.mark && !this.players.every(player => player.isWatched)) {
      return this.task.choose ? this.words.film_choose_left : this.words.film_watch_left;
    }
    if (this.task.choose && this.choice === null) return this.words.film_choose_left;
    return this.annotator?.problem();
  }

  change() {
    const problem = this.problem();
    this.status.textContent = problem ?? '';
    this.next.setAttribute('aria-disabled', String(Boolean(problem)));
    tell(this.host, 'film-draft', this.answers());
  }

  finish() {
    const problem = this.problem();
    if (problem) {
      this.status.classList.add('asked');
      return;
    }
    tell(this.host, 'film-done', this.answers());
  }
}

const tell = (host, name, answers) => host.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(answers) }));

/** Opens a watch stage in an element, which hears `film-draft` and `film-done` with the answers, as JSON. */
async function openFilm(host, text) {
  const order = JSON.parse(text);
  const style = new URL('annotate.css', import.meta.url).href;
  if (!document.querySelector(`link[href="${style}"]`)) document.head.append(make('link', '', { rel: 'stylesheet', href: style }));
  const films = await Promise.all(order.task.order.map(clip => fetchFilm(order.session, order.stage, clip)));
  host.stage = new WatchStage(host, order, films);
}
export { openFilm };
