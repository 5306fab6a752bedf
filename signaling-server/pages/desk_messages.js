// Messages between researchers and participants: the list of exchanges, and one of them in a dialog. It decides nothing.

import { at, clock, duration, el, none, put, table } from './parts.js';

const path = name => `participants/${encodeURIComponent(name)}`;

/** Makes this part of the dashboard, from functions of the page; `seen` gives what was seen last. */
export function makeMessages({ ask, confirm, action, may, seen }) {
  /** The pseudonym whose exchange is in the dialog, and how it stood when it was shown. */
  let open = null;
  let shown = '';

  const find = name => seen()?.exchanges.find(one => one.participant === name);

  function openExchange(name) {
    open = name;
    shown = '';
    at('talk-title').textContent = `Messages with ${name}`;
    at('talk-error').textContent = '';
    at('talk-form').hidden = !may('act');
    put('talk-lines');
    at('talk').showModal();
    if (may('act')) at('talk-text').focus();
    load();
  }

  const moment = us => clock.format(new Date(us / 1000));

  function stateOf(message) {
    const { check } = message;
    if (!check) return message.read_us ? `read ${moment(message.read_us)}` : 'not read yet';
    if (check.answer === null) {
      const isOver = seen().at_us > message.at_us + (check.within_s + 2) * 1e6;
      return isOver ? 'no answer in time' : `${check.within_s} s to answer`;
    }
    const after = `after ${((check.answered_us - message.at_us) / 1e6).toFixed(1)} s`;
    const verdict = check.expected ? (check.correct ? ', as expected' : `, and not “${check.expected}”`) : '';
    return `answered “${check.answer}” ${after}${verdict}`;
  }

  function line(message) {
    const who = message.by || message.participant;
    const where = message.by ? { group: ', to the group', everybody: ', to everybody' }[message.audience] ?? '' : `, at ${message.stage}`;
    return el('li', { className: message.by ? 'own' : '' },
      el('span', { className: 'soft', textContent: `${who}${where}, ${moment(message.at_us)}` }),
      el('span', { className: 'text', dir: 'auto', textContent: message.text }),
      el('span', { className: 'soft', textContent: stateOf(message) }));
  }

  async function load() {
    const name = open;
    try {
      const messages = await ask(`${path(name)}/messages`);
      if (open !== name) return;
      put('talk-lines', ...(messages.length ? messages.map(line) : [none('Nothing was written yet.')]));
      at('talk-lines').scrollTop = at('talk-lines').scrollHeight;
      const isNew = messages.some(message => !message.by && !message.read_us);
      if (isNew && may('act') && !document.hidden) {
        await ask(`${path(name)}/messages/read`, 'POST', { before: messages.at(-1).number + 1 });
      }
    } catch (error) {
      at('talk-error').textContent = error.message;
    }
  }

  at('talk-form').addEventListener('submit', async event => {
    event.preventDefault();
    at('talk-send').disabled = true;
    at('talk-error').textContent = '';
    try {
      await ask(`${path(open)}/messages`, 'POST', { text: at('talk-text').value });
      at('talk-text').value = '';
      await load();
    } catch (error) {
      at('talk-error').textContent = error.message;
    }
    at('talk-send').disabled = false;
    at('talk-text').focus();
  });
  at('talk-text').addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    at('talk-form').requestSubmit();
  });
  at('talk-close').addEventListener('click', () => at('talk').close());
  at('talk').addEventListener('close', () => { open = null; });

  const opener = name => {
    const button = el('button', { type: 'button', textContent: 'Messages' });
    button.addEventListener('click', () => openExchange(name));
    return button;
  };

  const toMany = (textContent, to, text) => action(textContent, {
    title: `${textContent}?`, text, yes: 'Send', fields: [{ name: 'text', label: 'Message', area: true, maxLength: 1000 }],
    run: values => ask(to, 'POST', values),
  });

  const checker = name => action('Check attention', {
    title: `Check the attention of ${name}?`,
    text: 'The question appears on their page at once, and does not stop what they do. Question, answer and time are in the tables.',
    yes: 'Ask',
    fields: [
      { name: 'text', label: 'Question', maxLength: 1000 },
      { name: 'choices', label: 'Answers to choose from', required: false, hint: 'Two to six, with commas between. Leave it empty for a written answer.' },
      { name: 'expected', label: 'Right answer', required: false, maxLength: 80, hint: 'Leave it empty if there is none.' },
      { name: 'within', label: 'Time for the answer, seconds', type: 'number', min: 5, max: 600, value: 30 },
    ],
    run: ({ text, choices, expected, within }) => ask(`${path(name)}/check`, 'POST', {
      text, expected: expected.trim(), within_s: Number(within), choices: choices.split(',').map(one => one.trim()).filter(Boolean),
    }),
  });

  /** Shows the list, and what is new in the dialog. */
  function show() {
    const { exchanges, at_us: now } = seen();
    const rows = exchanges.map(one => [
      one.participant, String(one.messages),
      one.unread ? el('strong', { className: 'bad', textContent: `${one.unread} not read` }) : '',
      one.unread_by_participant ? `has not read ${one.unread_by_participant}` : 'nothing unread',
      `${duration(now - one.last_us)} ago`, opener(one.participant),
    ]);
    const heads = ['Participant', '#Messages', 'New', 'The participant', 'Last', 'Actions'];
    put('messages', rows.length ? table(heads, rows) : none('Nobody has written.'));
    put('messages-actions', may('act') ? toMany('Write to everybody', 'messages', 'Everybody who is under way reads it at once, or when they come back.') : null);
    const one = open && find(open);
    const state = one ? JSON.stringify(one) : '';
    if (open && state !== shown) {
      shown = state;
      load();
    }
  }

  return {
    show, opener, checker,
    toGroup: group => toMany('Write to the group', `groups/${encodeURIComponent(group)}/messages`, `Everybody in ${group} reads it at once, or when they come back.`),
    unread: () => seen().exchanges.reduce((total, one) => total + one.unread, 0),
  };
}
