// Tables: events, key presses, network, controllers, chat and facts, each row at its tick.

const number = value => String(Math.round(value * 1000) / 1000);
const element = (name, text, attributes = {}) => {
  const made = Object.assign(document.createElement(name), { textContent: text ?? '' });
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const milliseconds = us => `${number(us / 1000)} ms`;

/** The tick at which a key was pressed that entered none. */
function tickOfKey(episode, keys, at) {
  if (!episode.facts.is_turns) return Math.max(0, Math.floor(keys[at][3] / 1e6 * episode.hz));
  return keys.slice(0, at).findLast(([tick]) => tick !== null)?.[0] ?? 0;
}

/** The amount of a note, with its unit. */
function amountOf({ kind, amount }) {
  if (amount === undefined) return '';
  if (kind === 'rollback') return `${amount} ${amount === 1 ? 'tick' : 'ticks'}`;
  return `${amount}${MS.has(kind) ? ' ms' : ''}`;
}

/**
 * The tables of an episode: title, columns after the tick, rows that begin with their tick, or none, and how many ticks later
 * the state shows it.
 */
const TABLES = [
  {
    title: 'Events',
    columns: ['Seat', 'What', 'Amount'],
    // A state shows an event once its step has been made.
    later: 1,
    rows: episode => [
      ...episode.events.map(([step, kind, seat, to, value]) =>
        [step, seat, episode.event_kinds[kind] + (to === null ? '' : ` → seat ${to}`), value ? number(value) : '']),
      ...episode.rewards.map(([step, seat, amount]) => [step, seat, 'reward', number(amount)]),
    ],
  },
  {
    title: 'Keys',
    columns: ['Seat', 'Action', 'Key', 'Pressed at', 'Screen answered after'],
    rows: episode => episode.seats.flatMap((seat, index) => seat.keys.map(([tick, action, isDown, atUs, shownUs], at) => [
      tick ?? tickOfKey(episode, seat.keys, at), index, episode.actions[action] ?? action,
      `${isDown ? 'down' : 'up'}${tick === null ? ', without effect' : ''}`, `${number(atUs / 1e6)} s`,
      shownUs === null ? 'not answered' : milliseconds(shownUs - atUs),
    ])),
  },
  {
    title: 'Network',
    columns: ['Seat', 'What', 'Amount', 'Other seat', 'Detail'],
    rows: episode => episode.seats.flatMap((seat, index) => [
      ...seat.notes.map(note => [
        note.tick, index, note.kind, amountOf(note), note.other ?? '', note.detail ?? '',
      ]),
      ...seat.round_trips.map(([tick, other, ms]) => [tick, index, 'round trip', `${ms} ms`, other, '']),
    ]),
  },
  {
    title: 'Controllers',
    columns: ['Seat', 'Played by'],
    rows: episode => episode.seats.flatMap((seat, index) => seat.controllers.map(([tick, name]) => [tick, index, name])),
  },
  {
    title: 'Chat',
    columns: ['Seat', 'Message'],
    rows: episode => episode.chat.map(({ tick, seat, text }) => [tick ?? 0, seat ?? '', text]),
  },
  {
    title: 'Facts',
    columns: ['What', 'Value'],
    rows: ({ facts }) => [
      ['study', `${facts.study} ${facts.study_version}`], ['stage', facts.stage],
      ['environment', `${facts.env}@${facts.env_version}`], ['module', facts.module], ['parameters', facts.params],
      ['seed', facts.seed], ['stepped', facts.is_hosted ? 'by the server' : 'on every page'],
      ['shown', facts.is_recorded ? 'as pages were shown it: the environment does not repeat itself' : 'computed again from the actions'],
      ['mode', facts.is_turns ? 'turns' : `${facts.tick_hz} ticks a second`], ['input delay', `${facts.input_delay} ticks`],
      ['ticks', facts.ticks], ['score', facts.score], ['ended', facts.ended ?? 'the log ends before the episode does'],
    ].map(row => [null, ...row]),
  },
];
const MS = new Set(['hold', 'delay', 'misprediction']);

/** The tables below the pictures. */
class Tables {
  /** Rows on the page at once: those around the tick. */
  static ROWS = 120;

  constructor(episodes, tabs, panel, seek) {
    Object.assign(this, { episodes, panel, seek });
    const filled = TABLES.filter(table => episodes.some(episode => table.rows(episode).length));
    this.buttons = filled.map((table, at) => {
      const button = element('button', table.title, { type: 'button', role: 'tab', id: `tab-${at}`, 'aria-controls': 'panel' });
      button.addEventListener('click', () => this.open(table, button));
      return button;
    });
    tabs.replaceChildren(...this.buttons);
    tabs.addEventListener('keydown', event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.stopPropagation();
      event.preventDefault();
      const at = this.buttons.indexOf(document.activeElement) + step;
      this.buttons[(at + this.buttons.length) % this.buttons.length].focus();
    });
    this.open(filled[0], this.buttons[0]);
  }

  open(table, button) {
    for (const other of this.buttons) {
      other.setAttribute('aria-selected', String(other === button));
      other.tabIndex = other === button ? 0 : -1;
    }
    this.panel.setAttribute('aria-labelledby', button.id);
    this.table = table;
    const name = this.episodes.length > 1;
    const rows = this.episodes.flatMap((episode, index) => table.rows(episode).map(([tick, ...cells]) => ({
      tick, at: tick === null ? null : episode.seconds(tick + (table.later ?? 0)), cells: name ? ['AB'[index], ...cells] : cells,
    })));
    this.rows = rows.sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
    this.columns = [...(rows[0]?.tick == null ? [] : ['Tick']), ...(name ? ['Episode'] : []), ...table.columns];
    this.first = undefined;
    this.follow(this.seconds ?? 0, true);
  }

  /** Shows the rows around a time, and points out those of it. */
  follow(seconds, isMoved) {
    this.seconds = seconds;
    const upTo = this.rows.findIndex(row => row.at !== null && row.at > seconds + 1e-9);
    const now = (upTo < 0 ? this.rows.length : upTo) - 1;
    const first = Math.max(0, Math.min(now - Tables.ROWS / 2, this.rows.length - Tables.ROWS));
    if (this.first === undefined || Math.abs(first - this.first) > Tables.ROWS / 4) this.fill(first);
    let last;
    this.shown.forEach((shown, at) => {
      const { at: time } = this.rows[this.first + at];
      const isNow = time !== null && Math.abs(time - (this.rows[now]?.at ?? -1)) < 1e-9;
      shown.classList.toggle('now', isNow);
      if (isNow) last = shown;
    });
    if (last && isMoved) {
      const room = this.panel.clientHeight - last.clientHeight;
      this.panel.scrollTop = Math.max(0, last.offsetTop - room / 2);
    }
  }

  fill(first) {
    this.first = first;
    const head = element('tr');
    head.append(...this.columns.map(column => element('th', column, { scope: 'col' })));
    const slice = this.rows.slice(first, first + Tables.ROWS);
    this.shown = slice.map(({ tick, at, cells }) => {
      const row = element('tr');
      if (tick !== null) {
        const cell = element('td');
        const button = element('button', String(tick), { type: 'button', class: 'link', title: this.table.later ? 'Go to the state after this tick' : 'Go to this tick' });
        button.addEventListener('click', () => this.seek(at));
        cell.append(button);
        row.append(cell);
      }
      row.append(...cells.map(cell => element('td', String(cell))));
      return row;
    });
    const [table, top, body] = [element('table'), element('thead'), element('tbody')];
    top.append(head);
    body.append(...this.shown);
    table.append(top, body);
    this.panel.replaceChildren(table);
  }
}
