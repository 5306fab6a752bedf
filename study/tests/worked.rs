//! The worked study: a file that has nearly everything that a study file can say.

use crate::folder::Folder;

const WORKED: &str = include_str!("folder/worked.yaml");

const POST: &str = r#"{"elements": [
  {"type": "radiogroup", "name": "imc1", "title": "Choose the second.", "choices": ["a", "b"], "correctAnswer": "b"},
  {"type": "rating", "name": "imc2", "title": "Choose 5.", "rateMax": 7, "correctAnswer": 5}
]}"#;

/// The faults of the worked study, after a change.
fn reported(name: &str, change: impl FnOnce(&Folder, &mut String)) -> Vec<String> {
    let folder = Folder::new(name);
    for page in [
        "consent.md",
        "how1.md",
        "how1.de.md",
        "how2.md",
        "debrief.md",
    ] {
        folder.write(page, "# Page\n");
    }
    folder.write("post.json", POST);
    folder.write("ppo_sp_v3.onnx", "What the host reads.");
    let mut text = WORKED.to_owned();
    change(&folder, &mut text);
    folder.write("study.yaml", &text);
    let problems = study::load(&folder.path).err().unwrap_or_default();
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn every_key_of_the_worked_study_is_read() {
    assert_eq!(reported("worked", |_, _| ()), Vec::<String>::new());
}

/// Replaces the only occurrence of a text, and returns the reports.
fn fault(from: &str, to: &str) -> Vec<String> {
    let name: String = format!("{from}{to}")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(80)
        .collect();
    reported(&format!("worked-{name}-{}", to.len()), |_, text| {
        assert_eq!(
            text.matches(from).count(),
            1,
            "`{from}` must stand once in the study"
        );
        *text = text.replace(from, to);
    })
}

/// A change of the worked study, and the reports about it.
type Fault = (&'static str, &'static str, &'static str);

const STAGES: &[Fault] = &[
    (
        "policy: ppo_sp_v3.onnx",
        "policy: ppo_sp_v2.onnx",
        "study.yaml:59:19: timeline[4].bot.policy: there is no file `ppo_sp_v2.onnx` in the study folder; did you mean `ppo_sp_v3.onnx`?\nstudy.yaml:65:5: timeline[5].for_each: `layout` is drawn for a group (`unit: group`), and there is none yet, as no lobby comes before this place; put a lobby before it, or write `unit: participant` in the design",
    ),
    (
        "policy: ppo_sp_v3.onnx",
        "policy: ppo_sp_v3.onnx, temperature: 0, every_ticks: 61",
        "study.yaml:59:48: timeline[4].bot.temperature: expected a number from 0.01 to 100, found `0`\nstudy.yaml:59:64: timeline[4].bot.every_ticks: expected a whole number from 1 to 60 ticks, found `61`\nstudy.yaml:65:5: timeline[5].for_each: `layout` is drawn for a group (`unit: group`), and there is none yet, as no lobby comes before this place; put a lobby before it, or write `unit: participant` in the design",
    ),
    (
        "policy: ppo_sp_v3.onnx",
        "policy: cook, every_ticks: 3",
        "study.yaml:59:25: timeline[4].bot.every_ticks: only for the file of a model; `cook` is a script, so remove it\nstudy.yaml:65:5: timeline[5].for_each: `layout` is drawn for a group (`unit: group`), and there is none yet, as no lobby comes before this place; put a lobby before it, or write `unit: participant` in the design",
    ),
    (
        "file: consent.md, ",
        "",
        "study.yaml:36:5: timeline[0].file: missing; write for example `file: consent.md`",
    ),
    (
        "else: no_consent}",
        "else: no_consnet}",
        "study.yaml:36:58: timeline[0].else: unknown outcome `no_consnet`; did you mean `no_consent`? Known here: completed, no_consent, ineligible, failed_quiz, lobby_timeout, partner_left, technical, withdrew, timed_out, study_full, left_early, page_failed",
    ),
    (
        "pages: [how1.md, how2.md]",
        "pages: [how1.md, how2.md], min_s: -1",
        "study.yaml:37:69: timeline[1].min_s: expected a whole number from 0 to 3600 seconds, found `-1`",
    ),
    (
        "    attempts: 2",
        "    attempts: 0",
        "study.yaml:40:15: timeline[2].attempts: expected a whole number from 1 to 20 attempts, found `0`",
    ),
    (
        "retry_from: how",
        "retry_from: play",
        "study.yaml:41:5: timeline[2].retry_from: there is no stage `play` before this one; known here: consent, how",
    ),
    (
        "retry_from: how",
        "retry_form: how",
        "study.yaml:41:5: timeline[2].retry_form: unknown key; did you mean `retry_from`? Known here: id, type, items, attempts, retry_from, else, for_each, repeat, when",
    ),
    (
        "choices: [1, 2, 3], answer: 3",
        "choices: [1, 2, 3], answer: 4",
        "study.yaml:44:91: timeline[2].items[0].answer: 4 is not one of the choices; write one of them: 1, 2, 3",
    ),
    (
        "choices: [1, 2, 3], answer: 3",
        "choices: [1, 2, 2], answer: 1",
        "study.yaml:44:79: timeline[2].items[0].choices[2]: 2 is already another choice",
    ),
    (
        "choices: [1, 2, 3], answer: 3",
        "choices: [3], answer: 3",
        "study.yaml:44:72: timeline[2].items[0].choices: one choice only, so nobody can be wrong; write at least two",
    ),
    (
        "{name: score, ask",
        "{name: onions, ask",
        "study.yaml:45:16: timeline[2].items[1].name: `onions` is already the name of another question; names are the columns of the data",
    ),
    (
        "ask: \"Whose score is it?\"",
        "ask: {de: \"Wessen Punkte?\"}",
        "study.yaml:45:28: timeline[2].items[1].ask: no text for `en`, the language of the study; add a line `en: …`",
    ),
    (
        "ask: \"Whose score is it?\"",
        "ask: {en: \"Whose?\", german: \"Wessen?\"}",
        "study.yaml:45:51: timeline[2].items[1].ask.german: `german` is not a language tag; write one like en, de or pt-BR",
    ),
    (
        "order: fifo",
        "order: lifo",
        "study.yaml:55:20: timeline[4].match.order: unknown order `lifo`; did you mean `fifo`? Known here: fifo, random\nstudy.yaml:65:5: timeline[5].for_each: `layout` is drawn for a group (`unit: group`), and there is none yet, as no lobby comes before this place; put a lobby before it, or write `unit: participant` in the design",
    ),
    (
        "not_met_before: true",
        "not_met_before: true, reunite: lobby",
        "study.yaml:55:47: timeline[4].match.not_met_before: keeps people apart, but `reunite` puts the same people together; use only one of the two\nstudy.yaml:65:5: timeline[5].for_each: `layout` is drawn for a group (`unit: group`), and there is none yet, as no lobby comes before this place; put a lobby before it, or write `unit: participant` in the design",
    ),
    (
        "max_p2p_rtt_ms: 120",
        "max_loss: 2",
        "study.yaml:55:36: timeline[4].match.max_loss: expected a number from 0 to 1, found `2`\nstudy.yaml:65:5: timeline[5].for_each: `layout` is drawn for a group (`unit: group`), and there is none yet, as no lobby comes before this place; put a lobby before it, or write `unit: participant` in the design",
    ),
    (
        "prompt_after_s: 60",
        "prompt_s: 60",
        "study.yaml:56:16: timeline[4].presence.prompt_s: unknown key; known here: prompt_after_s, grace_s",
    ),
    (
        "    bot: {policy: ppo_sp_v3.onnx, disclose: true}\n",
        "",
        "study.yaml:52:5: timeline[4].bot: missing, but `on_timeout: ask` needs it; write for example `bot: {policy: cook, disclose: true}`\nstudy.yaml:64:5: timeline[5].for_each: `layout` is drawn for a group (`unit: group`), and there is none yet, as no lobby comes before this place; put a lobby before it, or write `unit: participant` in the design",
    ),
    (
        "until: score >= 20 || elapsed_s >= 180",
        "until: {min_successes: 3}",
        "study.yaml:51:12: timeline[3].until.max_episodes: missing, so somebody who never succeeds would never go on; write for example `max_episodes: 20`",
    ),
    (
        "until: score >= 20 || elapsed_s >= 180",
        "episodes: 0",
        "study.yaml:51:15: timeline[3].episodes: expected a whole number from 1 to 1000 episodes, found `0`",
    ),
    (
        "until: score >= 20 || elapsed_s >= 180",
        "until: scor >= 20",
        "study.yaml:51:12: timeline[3].until: unknown name `scor`; did you mean `score`? Known here: elapsed_s, left_s, rewards, score, scores, ticks",
    ),
    (
        "until: score >= 20 || elapsed_s >= 180",
        "mode: turns\n    until: {formula: score > 3, max_episodes: 2}\n    episodes: 3",
        "study.yaml:53:15: timeline[3].episodes: `until.max_episodes` says 2 already; keep one of the two",
    ),
    (
        "until: score >= 20 || elapsed_s >= 180",
        "hud: [{label: Soups, value: '{{ score / 20 }} of {{ goal }}'}]",
        "study.yaml:51:57: timeline[3].hud[0].value: unknown name `goal`; known here: elapsed_s, episode, episodes, left_s, rewards, score, scores, seat, successes, ticks",
    ),
    (
        "seed: [group, layout]",
        "seed: [participant, layuot]",
        "study.yaml:67:12: timeline[5].seed[0]: several people play here, and all need the same seed; write `group`\nstudy.yaml:67:25: timeline[5].seed[1]: `layuot` stands for nothing here; did you mean `layout`? Known here: participant, group, episode, layout",
    ),
    (
        "seed: [group, layout]",
        "mode: turn",
        "study.yaml:67:11: timeline[5].mode: unknown mode `turn`; did you mean `turns`? Known here: ticks, turns",
    ),
    (
        "seed: [group, layout]",
        "capture: holds",
        "study.yaml:67:14: timeline[5].capture: unknown choice `holds`; did you mean `hold`? Known here: hold, press",
    ),
    (
        "seed: [group, layout]",
        "hud: [{label: Score}]",
        "study.yaml:67:11: timeline[5].hud[0].value: missing; write for example `value: score`",
    ),
    (
        "items: [imc1, imc2]",
        "items: [imc1, imc3]",
        "study.yaml:81:82: timeline[6].attention.items[1]: the form has no element `imc3`; did you mean `imc1`? Known here: imc1, imc2",
    ),
    (
        "allow_withdraw: true",
        "allow_withdrawal: true",
        "study.yaml:82:52: timeline[7].allow_withdrawal: unknown key; did you mean `allow_withdraw`? Known here: id, type, file, allow_withdraw, reveals, for_each, repeat, when",
    ),
];

const TOP: [Fault; 12] = [
    (
        "retention_days: 3650",
        "retention_days: 10 years",
        "study.yaml:9:19: study.retention_days: expected a whole number from 1 to 36500 days, found `10 years`",
    ),
    (
        "on_withdraw: erase_own",
        "on_withdraw: erase",
        "study.yaml:10:16: study.on_withdraw: unknown choice `erase`; known here: erase_own, erase_group",
    ),
    (
        "provider: prolific",
        "provider: prolifc",
        "study.yaml:12:13: recruitment.provider: unknown provider `prolifc`; did you mean `prolific`? Known here: none, prolific, mturk, parameters, kiosk",
    ),
    (
        "provider: prolific",
        "provider: parameters",
        "study.yaml:12:3: recruitment.parameters: missing, but `provider: parameters` needs them; write for example `parameters: {participant: id}`",
    ),
    (
        "currency: GBP",
        "currency: pounds",
        "study.yaml:13:13: recruitment.currency: `pounds` is not a currency; write its three letters, such as GBP, EUR or USD",
    ),
    (
        "base: 4.50",
        "base: -4.50",
        "study.yaml:14:9: recruitment.base: expected a number from 0 to 100000, found `-4.50`",
    ),
    (
        "  base: 4.50\n",
        "",
        "study.yaml:17:34: recruitment.outcomes.completed.pay: pays `base`, which is not said; write for example `base: 4.50` in this block\nstudy.yaml:18:34: recruitment.outcomes.partner_left.pay: pays `base`, which is not said; write for example `base: 4.50` in this block",
    ),
    (
        "  time_rate_per_hour: 9.00        # pays waiting and cut-short time\n",
        "",
        "study.yaml:19:42: recruitment.outcomes.lobby_timeout.pay: pays `time`, which is not said; write for example `time_rate_per_hour: 9.00` in this block\nstudy.yaml:20:42: recruitment.outcomes.technical.pay: pays `time`, which is not said; write for example `time_rate_per_hour: 9.00` in this block\nstudy.yaml:21:42: recruitment.outcomes.failed_quiz.pay: pays `time`, which is not said; write for example `time_rate_per_hour: 9.00` in this block\nstudy.yaml:22:42: recruitment.outcomes.left_early.pay: pays `time`, which is not said; write for example `time_rate_per_hour: 9.00` in this block",
    ),
    (
        "    no_consent:    {do: return, pay: none}",
        "    no_consent:    {do: return}",
        "study.yaml:24:20: recruitment.outcomes.no_consent.pay: missing; write for example `pay: base + bonus`",
    ),
    (
        "    no_consent:    {do: return, pay: none}",
        "    no_consent:    {do: refuse, pay: none}",
        "study.yaml:24:25: recruitment.outcomes.no_consent.do: unknown deed `refuse`; known here: approve, return, return_then_pay, screen_out",
    ),
    (
        "    no_consent:    {do: return, pay: none}",
        "    no_content:    {do: return, pay: none}",
        "study.yaml:24:20: recruitment.outcomes.no_content: unknown outcome `no_content`; did you mean `no_consent`? Known here: completed, no_consent, ineligible, failed_quiz, lobby_timeout, partner_left, technical, withdrew, timed_out, study_full, left_early, page_failed",
    ),
    (
        "net:\n",
        "screening: {device: [desktop, watch], min_window: {width: 1024}}\nnet:\n",
        "study.yaml:32:31: screening.device[1]: unknown device `watch`; known here: desktop, tablet, phone\nstudy.yaml:32:51: screening.min_window.height: missing; write for example `height: 640`",
    ),
];

#[test]
fn each_fault_is_reported_at_its_place_with_its_mend() {
    let mut shown = String::new();
    for (from, to, wanted) in STAGES.iter().chain(&TOP) {
        let found = fault(from, to).join("\n");
        if found != *wanted {
            shown += &format!("    ({from:?}, {to:?}, {found:?}),\n");
        }
    }
    assert!(shown.is_empty(), "{shown}");
}
