// The researcher's dashboard: shows what the server sends, and sends orders that were confirmed. It decides nothing.

import { makeMessages } from './messages.js';
import { again, at, bar, bytes, clock, duration, el, none, put, sum, table, when } from './parts.js';

/** Sends a request to the server; throws the server's own words if it refuses. */
async function ask(path, method = 'GET', body) {
  const headers = { 'X-Coplay-Desk': '1' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const answer = await fetch(`/desk/api/${path}`, {
    method, headers, cache: 'no-store', body: body === undefined ? undefined : JSON.stringify(body),
  });
  const told = answer.headers.get('content-type')?.startsWith('application/json') ? await answer.json() : null;
  if (!answer.ok) {
    throw Object.assign(new Error(told?.error ?? `the server answers ${answer.status}`), { status: answer.status });
  }
  return told;
}

// --- signing in ---

let me = null;
const may = role => {
  const roles = ['look', 'act', 'administer'];
  return me && roles.indexOf(me.role) >= roles.indexOf(role);
};

// The secret of a link leaves the address bar immediately.
let link = new URLSearchParams(location.hash.slice(1)).get('key');
if (link) history.replaceState(null, '', location.pathname);

function showDoor(error = '') {
  stream?.close();
  at('desk').hidden = true;
  at('door').hidden = false;
  at('enter').hidden = !link;
  at('door-text').hidden = Boolean(link);
  at('door-error').textContent = error;
  if (link) at('name').focus();
}

at('enter').addEventListener('submit', async event => {
  event.preventDefault();
  at('door-error').textContent = '';
  try {
    me = await ask('session', 'POST', { link, name: at('name').value });
    link = null;
    showDesk();
  } catch (error) {
    // A name that is missing can be written; a link that is void stays so.
    if (error.status === 401) link = null;
    showDoor(error.message);
  }
});

async function begin() {
  if (link) return showDoor();
  try {
    me = await ask('me');
    showDesk();
  } catch (error) {
    showDoor(error.status === 401 ? '' : error.message);
  }
}

addEventListener('hashchange', () => {
  link = new URLSearchParams(location.hash.slice(1)).get('key');
  if (!link) return;
  history.replaceState(null, '', location.pathname);
  showDoor();
});

function showDesk() {
  at('door').hidden = true;
  at('desk').hidden = false;
  at('access').hidden = !may('administer');
  at('download').hidden = !may('act');
  const out = el('button', { type: 'button', textContent: 'Sign out' });
  out.addEventListener('click', async () => {
    await ask('session', 'DELETE').catch(() => {});
    me = null;
    showDoor();
  });
  put('who', `${me.name} (role: ${me.role}) `, out);
  listen();
  showDone();
  if (may('administer')) showKeys();
}

// --- news ---

let stream = null;
let seen = null;

function listen() {
  stream?.close();
  stream = new EventSource('/desk/api/events');
  stream.addEventListener('overview', event => {
    seen = JSON.parse(event.data);
    at('live').className = 'soft';
    show();
  });
  stream.addEventListener('error', async () => {
    at('live').className = 'late';
    at('live').textContent = 'No answer from the server. What is shown may be out of date; this page tries again.';
    // The browser tries again by itself, unless the server has refused it.
    if (stream.readyState !== EventSource.CLOSED) return;
    try {
      await ask('me');
      setTimeout(listen, 2000);
    } catch (error) {
      if (error.status === 401) showDoor('You are signed out.');
      else setTimeout(listen, 2000);
    }
  });
}

// --- confirming ---

/**
 * Asks for confirmation, with fields `{name, label, type, value, options, hint, area}`; `run` gets their values and may throw,
 * which is shown in the dialog.
 */
function confirm({ title, text, yes, fields = [], run }) {
  at('ask-title').textContent = title;
  at('ask-about').textContent = text;
  at('ask-error').textContent = '';
  at('ask-yes').textContent = yes;
  at('ask-yes').disabled = false;
  const inputs = fields.map(({ name, label, options, hint, area, ...rest }) => {
    const input = options
      ? el('select', { id: `ask-${name}` }, ...options.map(option => el('option', { value: option, textContent: option })))
      : el(area ? 'textarea' : 'input', { id: `ask-${name}`, required: true, ...rest });
    return { name, input, parts: [el('label', { htmlFor: input.id, textContent: label }), hint ? el('p', { className: 'hint', textContent: hint }) : null, input] };
  });
  put('ask-fields', ...inputs.flatMap(({ parts }) => parts));
  at('ask-form').onsubmit = async event => {
    event.preventDefault();
    at('ask-yes').disabled = true;
    try {
      await run(Object.fromEntries(inputs.map(({ name, input }) => [name, input.value])));
      at('ask').close();
      showDone();
    } catch (error) {
      at('ask-error').textContent = error.message;
    }
    at('ask-yes').disabled = false;
  };
  at('ask').showModal();
}

at('ask-no').addEventListener('click', () => at('ask').close());

function action(textContent, order) {
  const button = el('button', { type: 'button', textContent });
  button.addEventListener('click', () => confirm(order));
  return button;
}

// --- amounts ---

const amount = units => {
  const { currency, decimals } = seen.pay;
  if (units === null || units === undefined) return '';
  if (!currency) return String(units);
  return new Intl.NumberFormat(undefined, { style: 'currency', currency, minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(units / 10 ** decimals);
};

// --- what is shown ---

function showNow() {
  const ended = name => sum(seen.outcomes.filter(one => !name || one.outcome === name), one => one.count);
  const dropped = sum(seen.stages, stage => sum(stage.people, one => one.dropped));
  const tiles = [
    ['under way', seen.present.under_way],
    ['with an open page', seen.present.connected],
    ['away', seen.present.absent],
    ['waiting for others', seen.waiting.length],
    ['episodes running', seen.episodes.length],
    ['completed', ended('completed')],
    ['ended otherwise', ended() - ended('completed')],
    ['dropped out at a stage', dropped],
  ];
  put('tiles', ...tiles.map(([name, count]) => el('div', {}, el('dt', { textContent: name }), el('dd', { textContent: String(count) }))));
}

const STATES = {
  open: 'Recruitment is open: new people begin as long as there is a place.',
  paused: 'Recruitment is paused: new people are asked to come back later.',
  closed: 'Recruitment is closed: new people end at once as study_full.',
};

const STEPS = {
  open: ['Open', 'New people can begin again. Those who were turned away can come back by their link.'],
  paused: ['Pause', 'New people are asked to come back later. Everybody who is in the study goes on.'],
  closed: ['Close', 'New people see the last page at once, with the outcome study_full. Everybody who is in the study goes on.'],
};

function showRecruitment() {
  at('recruitment').textContent = STATES[seen.recruitment];
  const steps = Object.entries(STEPS).filter(([state]) => state !== seen.recruitment);
  put('recruit-actions', ...(may('act') ? steps.map(([state, [name, text]]) => action(`${name} recruitment`, {
    title: `${name} recruitment?`, text, yes: name, run: () => ask('recruitment', 'POST', { state }),
  })) : []));
  const { places } = seen;
  const most = Math.max(1, ...places.cells.map(cell => cell.completed + cell.under_way), places.wanted ?? 0);
  const unit = `${places.unit}s`;
  const cells = places.cells.map(cell => {
    const wanted = cell.wanted ?? (places.cells.length === 1 ? places.wanted : null);
    const told = `${cell.completed} completed, ${cell.under_way} under way${wanted === null ? '' : `, ${wanted} wanted`}`;
    return el('div', { className: 'cell' },
      el('p', {}, el('strong', { textContent: cell.treatment || `All ${unit}` }), el('span', { className: 'soft', textContent: told })),
      bar([[cell.completed, ''], [cell.under_way, 'soft-part']], wanted || most));
  });
  const total = places.wanted === null
    ? none(`The number of ${unit} has no limit.`)
    : none(`${places.wanted} ${unit} are wanted in all, and ${places.left} places are left.`);
  put('cells', total, ...cells);
  const fields = places.is_per_treatment
    ? places.cells.map((cell, index) => ({ name: `places-${index}`, label: cell.treatment, type: 'number', min: 0, value: cell.wanted }))
    : [{ name: 'places-0', label: `Wanted ${unit} in all`, type: 'number', min: 0, value: places.wanted ?? '' }];
  put('places-actions', may('act') ? action('Change places', {
    title: 'Change places?',
    text: 'Nobody who is in the study loses their place. The study file stays as it is.',
    yes: 'Change', fields,
    run: values => ask('places', 'POST', { places: fields.map(({ name }) => Number(values[name])) }),
  }) : null);
}

function showPay() {
  const { pay } = seen;
  if (!pay.currency) {
    put('pay', el('dt', { textContent: 'currency' }), el('dd', { textContent: 'none: the study pays nothing' }));
  } else {
    const rows = [
      ['so far', amount(pay.so_far)],
      ['mean of those who completed', pay.mean_completed === null ? 'none yet' : amount(pay.mean_completed)],
      ['if everybody under way completes', amount(pay.with_under_way)],
      ['if all places are taken', pay.when_full === null ? 'not known' : amount(pay.when_full)],
    ];
    put('pay', ...rows.flatMap(([name, value]) => [el('dt', { textContent: name }), el('dd', { textContent: value })]));
  }
  const named = seen.outcomes.some(one => one.treatment);
  const heads = ['Outcome', ...(named ? ['Treatment'] : []), '#Sessions'];
  const rows = seen.outcomes.map(one => [one.outcome, ...(named ? [one.treatment || '–'] : []), String(one.count)]);
  put('outcomes', rows.length ? table(heads, rows) : none('Nobody has ended yet.'));
}

function showFunnel() {
  const treatments = [...new Set(seen.stages.flatMap(stage => stage.people.map(one => one.treatment)))].sort();
  const most = Math.max(1, ...seen.stages.map(stage => sum(stage.people, one => one.reached)));
  const rows = seen.stages.flatMap(stage => {
    const of = people => [
      bar([[sum(people, one => one.reached), '']], most),
      ...['reached', 'here', 'dropped'].map(key => String(sum(people, one => one[key]))),
    ];
    const whole = [stage.stage, treatments.length > 1 ? 'all' : treatments[0] || '', ...of(stage.people)];
    const parts = treatments.length > 1
      ? treatments.map(name => [again(stage.stage), name || 'not drawn yet', ...of(stage.people.filter(one => one.treatment === name))])
      : [];
    return [whole, ...parts];
  });
  put('funnel', table(['Stage', 'Treatment', 'Share', '#Came', '#There now', '#Dropped out'], rows));
}

const participant = name => `participants/${encodeURIComponent(name)}`;

function endAction(name) {
  return action('End', {
    title: `End the session of ${name}?`,
    text: 'They see the last page with this outcome, and are paid by its rule. For others of their episode it is as if they had left.',
    yes: 'End the session',
    fields: [{ name: 'outcome', label: 'Outcome', options: seen.study.outcomes }],
    run: ({ outcome }) => ask(`${participant(name)}/end`, 'POST', { outcome }),
  });
}

function giveAction(name) {
  const fields = [{ name: 'outcome', label: 'Outcome', options: seen.study.outcomes }];
  const { currency, decimals } = seen.pay;
  if (currency) {
    fields.push(
      { name: 'bonus', label: `Bonus, ${currency}`, type: 'number', min: 0, step: 1 / 10 ** decimals, required: false, hint: 'Leave it empty for the bonus of the outcome.' },
      { name: 'reason', label: 'Reason of the bonus', maxLength: 200, required: false, hint: 'It is in the tables.' });
  }
  return action('Give to AI partner', {
    title: `Give the seat of ${name} to the AI partner?`,
    text: 'The AI partner of the stage plays on in this seat, as for somebody who stays away. The person sees the last page with the outcome that you choose.',
    yes: 'Give the seat', fields,
    run: ({ outcome, bonus, reason }) => ask(`${participant(name)}/seat`, 'POST', {
      outcome, ...(bonus ? { bonus: Math.round(Number(bonus) * 10 ** decimals), reason } : {}),
    }),
  });
}

function moveAction(one) {
  const options = one.rooms.map(({ room }) => room);
  const people = one.rooms.filter(({ waiting }) => waiting).map(({ room, waiting }) => `${room}: ${waiting}`).join(', ');
  return action('Move', {
    title: `Move ${one.participant} to another room?`,
    text: `They get the treatment of the people there, and keep their waiting time. People who wait: ${people || 'none in another room'}.`,
    yes: 'Move',
    fields: [{ name: 'room', label: 'Room', options }],
    run: ({ room }) => ask(`${participant(one.participant)}/room`, 'POST', { room }),
  });
}

function showWaiting() {
  const rows = seen.waiting.map(one => {
    const left = one.until_us === null ? 'without end' : `${duration(one.until_us - seen.at_us)} left`;
    const whom = one.waits_for === 'lobby' ? `${one.more} more for a group` : one.missing.join(', ') || 'the others';
    const wait = (then, textContent, text) => action(textContent, {
      title: `${textContent}: ${one.participant}?`, text, yes: textContent,
      run: () => ask(`${participant(one.participant)}/wait`, 'POST', { then }),
    });
    const actions = el('div', { className: 'actions' });
    if (may('act')) {
      actions.append(...[
        one.may_wait_longer && wait('longer', 'Wait longer', 'Their waiting time begins once more. They are still matched as soon as somebody comes.'),
        one.may_continue_alone && wait('alone', 'Continue alone', 'They go on at once with the AI partner of this lobby.'),
        one.rooms.length > 0 && moveAction(one),
        endAction(one.participant),
      ].filter(Boolean));
    }
    return [one.participant, one.room ? `${one.stage}, ${one.room}` : one.stage, duration(seen.at_us - one.since_us), left, whom, one.state, actions];
  });
  put('waiting', rows.length ? table(['Participant', 'Stage', 'Waits', 'Time', 'For', 'Page', 'Actions'], rows) : none('Nobody waits.'));
}

const messages = makeMessages({ ask, confirm, action, may, seen: () => seen });

const ms = us => (us === null ? '–' : `${Math.round(us / 1000)} ms`);

function showEpisodes() {
  const rows = seen.episodes.flatMap(one => one.seats.map((seat, index) => {
    const ran = one.tick_hz && one.began_us ? `${Math.round(one.ticks / one.tick_hz)} s` : `${one.ticks} ticks`;
    const watch = el('a', { href: `/replay/${encodeURIComponent(one.episode)}`, target: '_blank', textContent: one.episode });
    const network = seat.participant ? [
      ms(seat.rtt_us),
      seat.loss_permille === null ? '–' : `${(seat.loss_permille / 10).toFixed(1)} %`,
      seat.rollbacks ? `${seat.rollbacks}, at most ${seat.deepest_rollback} ${seat.deepest_rollback === 1 ? 'tick' : 'ticks'}` : '0',
      seat.holds ? `${seat.holds}, ${(seat.held_ms / 1000).toFixed(1)} s` : '0',
    ] : ['', '', '', ''];
    const orders = el('div', { className: 'actions' });
    if (may('act') && seat.may_be_given) orders.append(giveAction(seat.participant));
    if (may('act') && seat.participant) orders.append(endAction(seat.participant));
    if (may('act') && !index && one.group) orders.append(messages.toGroup(one.group));
    return [
      ...(index ? [again(one.episode), again(one.stage), ''] : [one.began_us ? watch : one.episode, one.stage, `${one.phase}, ${ran}`]),
      `${seat.seat}: ${seat.participant ?? seat.controller}`, seat.page, ...network, orders,
    ];
  }));
  const heads = ['Episode', 'Stage', 'State', 'Seat', 'Page', '#Round trip', '#Loss', '#Rollbacks', '#Holds', 'Actions'];
  put('episodes', rows.length ? table(heads, rows) : none('No episode runs.'));
}

function showPeople() {
  const wanted = at('filter').value.trim().toLowerCase();
  const fits = one => (at('ended').checked || !one.outcome)
    && (!wanted || [one.participant, one.stage, one.outcome ?? '', one.treatment].some(text => text.toLowerCase().includes(wanted)));
  const found = seen.sessions.filter(fits);
  const named = found.some(one => one.treatment);
  const rows = found.map(one => {
    const actions = el('div', { className: 'actions' });
    actions.append(messages.opener(one.participant));
    if (may('act') && one.is_connected && !one.outcome) actions.append(messages.checker(one.participant));
    if (may('act') && !one.outcome) actions.append(endAction(one.participant));
    if (may('act') && one.outcome && seen.pay.currency) {
      actions.append(action('Correct the bonus', {
        title: `Correct the bonus of ${one.participant}?`,
        text: `The bonus is ${amount(one.bonus)}, and the whole payment ${amount(one.total)}. Both change by the same amount. A payment that is marked as paid stays as it is.`,
        yes: 'Correct',
        fields: [
          { name: 'bonus', label: `New bonus, ${seen.pay.currency}`, type: 'number', min: 0, step: 1 / 10 ** seen.pay.decimals, value: one.bonus / 10 ** seen.pay.decimals },
          { name: 'reason', label: 'Reason', maxLength: 200, hint: 'It is in the tables.' },
        ],
        run: ({ bonus, reason }) => ask(`${participant(one.participant)}/bonus`, 'POST', { bonus: Math.round(Number(bonus) * 10 ** seen.pay.decimals), reason }),
      }));
    }
    const page = one.outcome ? '' : one.is_connected ? 'open' : `away for ${duration(seen.at_us - one.seen_us)}`;
    return [
      one.participant, ...(named ? [one.treatment || '–'] : []), one.stage, one.outcome ?? 'none yet', page,
      duration(one.worked_ms * 1000), amount(one.total), actions,
    ];
  });
  const heads = ['Participant', ...(named ? ['Treatment'] : []), 'Stage', 'Outcome', 'Page', '#Worked', '#Pay', 'Actions'];
  const left = seen.sessions_in_all - seen.sessions.length;
  put('people', rows.length ? table(heads, rows) : none('Nobody is listed.'),
    left > 0 ? none(`${left} older sessions are not listed; the tables have them.`) : null);
}

function showMachine() {
  const { machine } = seen;
  const rows = [
    ['free disk', `${bytes(machine.disk_free)} of ${bytes(machine.disk_size)}`],
    ['load', machine.load === null ? 'not known' : `${machine.load.toFixed(1)} on ${machine.cores} processors`],
    ['memory of the server', bytes(machine.memory)],
  ];
  put('machine', ...rows.flatMap(([name, value]) => [el('dt', { textContent: name }), el('dd', { textContent: value })]));
}

/** Shows everything that was seen last; the focus stays where it is. */
function show() {
  const { study } = seen;
  at('title').textContent = study.title;
  const unread = messages.unread();
  document.title = `${unread ? `(${unread}) ` : ''}${study.title}: dashboard`;
  at('study').textContent = `${study.id} ${study.version}, ${study.hash.slice(0, 12)}`;
  at('live').textContent = `As of ${when(seen.at_us)}.`;
  put('warnings', ...seen.warnings.map(one => el('li', { className: one.level }, el('strong', { textContent: one.what }), one.advice)));
  const focused = keepFocus();
  for (const part of [showNow, showRecruitment, showPay, showFunnel, showWaiting, messages.show, showEpisodes, showPeople, showMachine]) part();
  focused();
}

/** Remembers which button of which row has the focus, and how far tables are scrolled; gives what restores both. */
function keepFocus() {
  const row = element => element.closest('tr')?.textContent.match(/P-\w+|E-\w+/)?.[0];
  const focused = document.activeElement;
  const box = focused?.closest('#grid [id]:not(section)');
  const is = box && ['BUTTON', 'A'].includes(focused.tagName);
  const before = is ? { id: box.id, text: focused.textContent, row: row(focused) } : null;
  const scrolled = [...document.querySelectorAll('#grid .scroll')].map(part => [part.parentElement.id, part.scrollLeft]);
  return () => {
    for (const [id, left] of scrolled) at(id).querySelector('.scroll')?.scrollTo({ left });
    if (!before) return;
    const buttons = [...at(before.id).querySelectorAll('button, a')];
    buttons.find(one => one.textContent === before.text && row(one) === before.row)?.focus({ preventScroll: true });
  };
}

at('filter').addEventListener('input', () => seen && showPeople());
at('ended').addEventListener('change', () => seen && showPeople());

async function showDone() {
  try {
    const done = await ask('interventions');
    const rows = done.reverse().slice(0, 50).map(one => [
      clock.format(new Date(one.at)), one.by, one.order.replaceAll('_', ' '), one.participant ?? '', one.detail,
    ]);
    put('done', rows.length ? table(['When', 'Who', 'What', 'Participant', 'Detail'], rows) : none('Nothing was done yet.'));
  } catch (error) {
    put('done', none(error.message));
  }
}

// --- keys ---

async function showKeys() {
  try {
    const keys = await ask('keys');
    const rows = keys.map(key => {
      const expires = key.expires_s ? clock.format(new Date(key.expires_s * 1000)) : 'never';
      const own = key.id === me.id ? ' (you)' : '';
      return [String(key.id), key.kind, `${key.name || 'not named yet'}${own}`, key.role, expires, action('Revoke', {
        title: `Revoke the ${key.kind} of ${key.name || 'nobody yet'}?`,
        text: 'It is void at once.', yes: 'Revoke',
        run: async () => { await ask(`keys/${key.id}`, 'DELETE'); showKeys(); },
      })];
    });
    put('keys', table(['Key', 'Kind', 'Name', 'May', 'Expires', 'Actions'], rows));
  } catch (error) {
    put('keys', none(error.message));
  }
}

at('new-key').addEventListener('submit', async event => {
  event.preventDefault();
  const wanted = { kind: at('key-kind').value, name: at('key-name').value, role: at('key-role').value };
  try {
    const made = await ask('keys', 'POST', wanted);
    const secret = made.token ?? new URL(made.path, location.href).href;
    const told = made.token ? 'The token, shown only now: ' : 'The link, which opens once within 24 hours: ';
    put('secret', told, el('code', { textContent: secret }));
    at('new-key').reset();
    showKeys();
  } catch (error) {
    put('secret', error.message);
  }
});

// What others do with keys and orders is not part of the news.
setInterval(() => {
  if (at('desk').hidden || document.hidden || at('ask').open || at('keys').contains(document.activeElement)) return;
  showDone();
  if (may('administer')) showKeys();
}, 5000);

begin();
