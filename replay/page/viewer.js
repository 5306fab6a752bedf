// The viewer: one clock over one episode or two, the controls, the keyboard and the address.

const SPEEDS = [.25, .5, 1, 2, 4, 8, 16];
/** The height of everything around the pictures, and the least height of a picture, so that the controls hide nothing. */
const [AROUND, LEAST_HEIGHT] = [440, 200];
const byId = id => document.getElementById(id);

/** The two pictures of an episode: what was confirmed, and what a seat was shown. */
class Stage {
  constructor(episode, sprites, letter) {
    this.episode = episode;
    this.element = element('section', '', { class: 'stage' });
    if (letter) this.element.append(element('h2', `${letter} · ${episode.name}`));
    const pair = element('div', '', { class: 'pair' });
    [this.truth, this.seen] = ['Confirmed', 'Shown'].map(title => {
      const [figure, room, canvas] = [element('figure'), element('div', '', { class: 'room' }), element('canvas', '', { role: 'img' })];
      const [heading, words] = [element('figcaption', title), element('p', '', { class: 'words' })];
      room.append(canvas);
      figure.append(heading, room, words);
      pair.append(figure);
      const painter = new Painter(canvas, episode.pictures, sprites);
      painter.maxHeight = () => Math.max(LEAST_HEIGHT, window.innerHeight - AROUND);
      return { figure, room, canvas, heading, words, painter };
    });
    // A page of a host shows what it is sent: there is nothing to compare.
    if (episode.facts.is_hosted) {
      this.element.classList.add('hosted');
      this.seen.figure.hidden = true;
      if (episode.facts.is_recorded) this.truth.heading.textContent = 'As it was sent to a page';
    }
    this.figures = element('ul', '', { class: 'figures' });
    this.element.append(pair, this.figures);
  }

  /** Shows a tick to a seat; `nth` chooses among the frames that showed it. */
  show(tick, seat, nth, isMarked) {
    const { episode, truth, seen } = this;
    seat = Math.min(seat, episode.seats.length - 1);
    const own = episode.seats[seat];
    const { frames, isLate } = episode.framesAt(seat, tick);
    const frame = frames[Math.min(nth, frames.length - 1)];
    const at = frame === undefined ? tick : Math.min(own.tick[frame], episode.ticks);
    const [missing, added] = frame === undefined ? [[], []]
      : episode.pictures.differences(own.confirmed[at], own.picture[frame]);
    const style = getComputedStyle(document.documentElement);
    const mark = name => style.getPropertyValue(name).trim();
    truth.painter.paint(own.confirmed[tick], {
      own: seat + 1, marked: isMarked && at === tick ? missing : [], dashed: true, mark: mark('--truth'),
    });
    const { is_recorded: isRecorded } = episode.facts;
    truth.words.textContent = own.pictures ? `as seat ${seat} may see it` : isRecorded ? 'as a person was shown it' : 'the whole world';
    truth.canvas.setAttribute('aria-label', `Confirmed picture after ${tick} ticks`);
    seen.heading.textContent = `Shown to seat ${seat}`;
    seen.room.classList.toggle('none', frame === undefined);
    if (frame !== undefined) {
      seen.painter.paint(own.picture[frame], { own: seat + 1, marked: isMarked ? added : [], mark: mark('--seen') });
    }
    seen.words.textContent = this.tellFrame(seat, tick, frames, frame, isLate, missing.length + added.length);
    seen.canvas.setAttribute('aria-label', seen.words.textContent);
    this.element.classList.toggle('differs', missing.length + added.length > 0);
    this.showFigures(tick, seat);
  }

  tellFrame(seat, tick, frames, frame, isLate, differing) {
    const { episode } = this;
    const own = episode.seats[seat];
    if (own.is_withdrawn) return 'Its person withdrew what was recorded.';
    if (frame === undefined) {
      const who = episode.controllerAt(seat, tick);
      if (who !== 'person') return who === 'nobody' ? 'Nobody plays this seat.' : 'An AI partner has no screen.';
      return own.tick.length ? 'Nothing was shown yet.' : 'There is no record of its frames.';
    }
    const parts = [`at ${(own.atMs[frame] / 1000).toFixed(2)} s`];
    if (isLate) parts.unshift(`tick ${tick} was not shown; this is tick ${own.tick[frame]}`);
    if (frames.length > 1) parts.unshift(`frame ${frames.indexOf(frame) + 1} of ${frames.length}`);
    if (own.isHidden(frame)) parts.push('page out of sight');
    parts.push(differing ? 'differs from what was confirmed' : 'equal');
    return parts.join(' · ');
  }

  /** What a policy would have done, with the action that was taken in bold. */
  tellAdvice({ name, likely }, taken) {
    const line = element('span', `${name} would: `, { class: 'soft' });
    likely.forEach(({ share, action }, at) => {
      line.append(at ? ', ' : '', element(action === taken ? 'b' : 'span', share === 100 ? action : `${action} ${share} %`));
    });
    return line;
  }

  showFigures(tick, seat) {
    const { episode } = this;
    const entries = episode.seats.map((_, index) => {
      const entry = element('li', '', { class: index === seat ? 'own' : '' });
      const score = episode.seatScoreAt(index, tick);
      const earned = episode.earnedBy(index, tick);
      const trips = [...episode.roundTripsAt(index, tick)].map(([other, ms]) => `${ms} ms to seat ${other}`);
      entry.append(
        element('b', `Seat ${index}`), element('span', episode.controllerAt(index, tick)),
        element('code', episode.actionAt(index, tick) || 'end', { title: 'the action of the next step' }),
        element('span', [
          score === undefined ? '' : `score ${score}`, earned ? `reward ${number(earned)}` : '', ...trips,
        ].filter(Boolean).join(' · '), { class: 'soft' }),
      );
      entry.append(...episode.adviceAt(index, tick).map(advice => this.tellAdvice(advice, episode.actionAt(index, tick))));
      return entry;
    });
    const score = element('li', '', { class: 'score' });
    score.append(element('b', 'Score'), element('span', String(episode.scoreAt(tick))));
    this.figures.replaceChildren(score, ...entries);
  }
}

/** Everything that the page can do. */
class Viewer {
  constructor(episodes, sprites) {
    this.episodes = episodes;
    const letters = episodes.length > 1 ? ['A', 'B'] : [''];
    this.stages = episodes.map((episode, index) => new Stage(episode, sprites[index], letters[index]));
    // Ticks are those of the first episode; the other one follows by the clock.
    this.hz = episodes[0].hz;
    this.last = Math.max(...episodes.map(episode => Math.ceil(episode.seconds(episode.ticks) * this.hz - 1e-9)));
    Object.assign(this, { tick: 0, seat: 0, nth: 0, speed: 1, isPlaying: false });
    byId('stages').replaceChildren(...this.stages.map(stage => stage.element));
    this.tables = new Tables(episodes, byId('tabs'), byId('panel'), seconds => this.seek(seconds * this.hz));
    this.annotations = new Annotations(episodes[0], this);
    this.videos = new Videos(episodes[0], sprites[0], this);
    this.connect();
    this.readAddress();
  }

  tickOf(episode) {
    return Math.min(episode.ticks, Math.floor(this.tick / this.hz * episode.hz + 1e-9));
  }

  connect() {
    const seats = Math.max(...this.episodes.map(episode => episode.seats.length));
    byId('scrub').max = this.last;
    byId('seat').replaceChildren(...Array.from({ length: seats }, (_, seat) => element('option', String(seat))));
    byId('speed').replaceChildren(...SPEEDS.map(speed => element('option', `${speed}×`, { value: speed })));
    byId('speed').value = 1;
    byId('scrub').addEventListener('input', event => this.seek(event.target.valueAsNumber));
    byId('speed').addEventListener('change', event => this.setSpeed(Number(event.target.value)));
    byId('seat').addEventListener('change', event => this.setSeat(Number(event.target.value)));
    byId('marks').addEventListener('change', () => this.show());
    const jumps = { first: () => 0, back: () => this.tick - 1, next: () => this.tick + 1, last: () => this.last };
    for (const [id, to] of Object.entries(jumps)) byId(id).addEventListener('click', () => this.seek(to()));
    byId('play').addEventListener('click', () => this.play(!this.isPlaying));
    document.addEventListener('keydown', event => this.press(event));
    window.addEventListener('hashchange', () => this.readAddress());
    new ResizeObserver(() => { this.paintStrip(); this.show(); }).observe(byId('replay'));
    // The height of the window limits that of the pictures.
    window.addEventListener('resize', () => this.show());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.paintStrip(); this.show(); });
    for (const id of ['controls', 'legend', 'details', 'annotate', 'video']) byId(id).hidden = false;
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const target = event.target.tagName;
    if (this.annotations.press(event)) return;
    if (/^(SELECT|TEXTAREA)$/.test(target) || ['text', 'number'].includes(event.target.type) || (event.key === ' ' && ['BUTTON', 'SUMMARY', 'INPUT'].includes(target))) return;
    const step = event.shiftKey ? 10 : 1;
    const deeds = {
      ' ': () => this.play(!this.isPlaying),
      ArrowLeft: () => this.seek(this.tick - step), ArrowRight: () => this.seek(this.tick + step),
      Home: () => this.seek(0), End: () => this.seek(this.last),
      '+': () => this.faster(1), '=': () => this.faster(1), '-': () => this.faster(-1),
      ',': () => this.chooseFrame(-1), '.': () => this.chooseFrame(1),
      n: () => this.seekDifference(1), b: () => this.seekDifference(-1),
      d: () => { byId('marks').checked = !byId('marks').checked; this.show(); },
    };
    const deed = deeds[event.key] ?? (/^\d$/.test(event.key) ? () => this.setSeat(Number(event.key)) : null);
    if (!deed) return;
    event.preventDefault();
    deed();
  }

  faster(step) {
    const at = SPEEDS.indexOf(this.speed) + step;
    this.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at))]);
  }

  setSpeed(speed) {
    this.speed = speed;
    byId('speed').value = speed;
  }

  setSeat(seat) {
    if (seat >= byId('seat').options.length) return;
    Object.assign(this, { seat, nth: 0 });
    this.paintStrip();
    this.show();
    this.writeAddress();
  }

  chooseFrame(step) {
    const [episode] = this.episodes;
    const seat = Math.min(this.seat, episode.seats.length - 1);
    const count = episode.framesAt(seat, this.tickOf(episode)).frames.length;
    this.nth = Math.max(0, Math.min(count - 1, this.nth + step));
    this.show();
  }

  seekDifference(step) {
    const [episode] = this.episodes;
    const found = episode.differences(Math.min(this.seat, episode.seats.length - 1));
    const next = step > 0 ? found.find(tick => tick > this.tick) : found.findLast(tick => tick < this.tick);
    if (next !== undefined) this.seek(next);
  }

  seek(tick) {
    this.play(false);
    this.go(Math.round(Math.max(0, Math.min(this.last, tick || 0))));
    this.writeAddress();
  }

  go(tick) {
    Object.assign(this, { tick, nth: 0 });
    this.show();
    this.tables.follow(tick / this.hz, true);
    this.annotations.follow(this.isPlaying);
  }

  play(isPlaying) {
    if (isPlaying === this.isPlaying) return;
    this.isPlaying = isPlaying;
    byId('play').textContent = isPlaying ? 'Pause' : 'Play';
    this.annotations.follow(isPlaying);
    if (!isPlaying) {
      this.annotations.tell();
      return this.writeAddress();
    }
    let at = this.tick >= this.last ? 0 : this.tick;
    // The first frame may carry a time before the press of the button.
    let before;
    const beat = now => {
      if (!this.isPlaying) return;
      at = Math.min(this.last, at + (now - (before ?? now)) / 1000 * this.hz * this.speed);
      before = now;
      if (Math.floor(at) !== this.tick) this.go(Math.floor(at));
      if (at >= this.last) return this.play(false);
      requestAnimationFrame(beat);
    };
    requestAnimationFrame(beat);
  }

  show() {
    const isMarked = byId('marks').checked;
    for (const stage of this.stages) stage.show(this.tickOf(stage.episode), this.seat, this.nth, isMarked);
    byId('scrub').value = this.tick;
    byId('scrub').setAttribute('aria-valuetext', `tick ${this.tick} of ${this.last}`);
    // Turns take as long as people think.
    const time = this.episodes[0].facts.is_turns ? '' : ` · ${(this.tick / this.hz).toFixed(1)} s`;
    byId('where').textContent = `Tick ${this.tick} of ${this.last}${time}`;
    byId('seat').value = this.seat;
  }

  /** Marks above the slider: what was earned, key presses, differences, and faults of the network. */
  paintStrip() {
    const canvas = byId('strip');
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map(css => Math.round(css * ratio));
    Object.assign(canvas, { width, height });
    const context = canvas.getContext('2d');
    const style = getComputedStyle(document.documentElement);
    const lane = height / 4;
    const inset = 8 * ratio;
    const line = (at, row, name) => {
      context.fillStyle = style.getPropertyValue(name);
      context.fillRect(inset + (width - 2 * inset) * at / Math.max(1, this.last), row * lane + 1, Math.max(1, ratio), lane - 2);
    };
    for (const episode of this.episodes) {
      const seat = Math.min(this.seat, episode.seats.length - 1);
      const own = episode.seats[seat];
      const at = tick => tick / episode.hz * this.hz;
      for (const [step] of episode.rewards) line(at(step + 1), 0, '--good');
      for (const [tick, , isDown] of own.keys) if (isDown && tick !== null) line(at(tick), 1, '--brand');
      for (const tick of episode.differences(seat)) line(at(tick), 2, '--seen');
      for (const note of own.notes) if (FAULTS.has(note.kind)) line(at(note.tick), 3, '--bad');
    }
  }

  readAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const seat = Number(asked.get('seat') ?? this.seat);
    this.seat = Number.isInteger(seat) && seat >= 0 && seat < byId('seat').options.length ? seat : 0;
    this.play(false);
    this.paintStrip();
    this.go(Math.round(Math.max(0, Math.min(this.last, Number(asked.get('t') ?? this.tick) || 0))));
  }

  writeAddress() {
    history.replaceState(null, '', `#t=${this.tick}&seat=${this.seat}`);
  }
}
const FAULTS = new Set(['hold', 'delay', 'gone', 'out of sight', 'diverged', 'equivocation']);

async function open() {
  const raw = await readReplays();
  const episodes = raw.map(replay => new Episode(replay));
  const sprites = await Promise.all(raw.map(replay => loadSprites(replay.sprites)));
  const [{ facts }] = raw;
  document.title = raw.map(replay => replay.name).join(' | ');
  byId('title').textContent = document.title;
  byId('facts').textContent = raw.length > 1 ? 'Two episodes on one clock'
    : `${facts.study} · ${facts.stage} · ${facts.env}@${facts.env_version} · ${facts.ended ?? 'not ended'}`;
  window.viewer = new Viewer(episodes, sprites);
  window.viewer.openedMs = performance.now();
  byId('notice').hidden = true;
  byId('replay').setAttribute('aria-busy', 'false');
}

open().catch(error => {
  byId('notice').textContent = `The replay cannot be shown: ${error.message}. It needs a browser of 2023 or later.`;
  throw error;
});
