//! Seeded faults: each is reported at its line, with the way to mend it.

mod env;
mod forms;
mod text;

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::folder::{Folder, STUDY};

/// Changes one thing of a good study and returns the reports.
fn faults(name: &str, change: impl FnOnce(&Folder, &mut String)) -> Vec<String> {
    let folder = Folder::new(name);
    let mut text = STUDY.to_owned();
    change(&folder, &mut text);
    folder.write("study.yaml", &text);
    match study::load(&folder.path) {
        Ok(_) => panic!("{name}: nothing was reported"),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// Replaces the one place where a text stands.
fn swap(text: &mut String, from: &str, to: &str) {
    assert_eq!(
        text.matches(from).count(),
        1,
        "`{from}` must stand once in the study"
    );
    *text = text.replace(from, to);
}

/// One replacement, one report.
fn fault(from: &str, to: &str) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!("fault-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut found = faults(&name, |_, text| swap(text, from, to));
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

#[test]
fn the_study_that_the_faults_are_seeded_into_is_good() {
    let folder = Folder::new("good");
    folder.write("study.yaml", STUDY);
    assert!(study::load(&folder.path).is_ok());
}

#[test]
fn misspelt_keys_get_the_nearest_known_one() {
    assert_eq!(
        fault("timeout_s: 30", "timeuot_s: 30\n    timeout_s: 30"),
        "study.yaml:15:5: timeline[1].timeuot_s: unknown key; did you mean `timeout_s`? \
         Known here: id, type, group_size, match, presence, timeout_s, on_timeout, regroup_s, rematch, bot, partner, simulated_wait_s, else, for_each, repeat, when"
    );
    assert_eq!(
        fault("  language: en", "  language: en\n  colour: red"),
        "study.yaml:8:3: study.colour: unknown key; known here: id, version, language, languages, title, contact, help_button, \
         protocol, retention_days, on_withdraw, on_leave, expires_h"
    );
    assert_eq!(
        fault("format: 1", "format: 1\nrecruiting: {provider: prolific}"),
        "study.yaml:2:1: recruiting: unknown key; did you mean `recruitment`? Known here: format, study, partners, texts, recruitment, \
         screening, net, offline, design, timeline, bonus, adherence, exclusions"
    );
}

#[test]
fn missing_keys_come_with_an_example() {
    assert_eq!(
        fault("    group_size: 2\n", ""),
        "study.yaml:12:5: timeline[1].group_size: missing; write for example `group_size: 2`"
    );
    assert_eq!(
        fault("    bot: {policy: cook}\n", ""),
        "study.yaml:12:5: timeline[1].bot: missing, but `on_timeout: bot` needs it; \
         write for example `bot: {policy: cook, disclose: true}`"
    );
    assert_eq!(
        fault("  contact: lab@example.edu\n", ""),
        "study.yaml:3:3: study.contact: missing; write for example `contact: lab@example.edu`"
    );
}

#[test]
fn words_numbers_and_ranges_are_checked() {
    assert_eq!(
        fault("type: lobby", "type: loby"),
        "study.yaml:13:11: timeline[1].type: unknown stage type `loby`; did you mean `lobby`? \
         Known here: consent, instructions, quiz, survey, lobby, env, chat, debrief, external, watch, end"
    );
    assert_eq!(
        fault("timeout_s: 30", "timeout_s: 7200"),
        "study.yaml:15:16: timeline[1].timeout_s: expected a whole number from 5 to 3600 seconds, found `7200`"
    );
    assert_eq!(
        fault("timeout_s: 30", "timeout_s: 30s"),
        "study.yaml:15:16: timeline[1].timeout_s: expected a whole number from 5 to 3600 seconds, found `30s`"
    );
    assert_eq!(
        fault("on_timeout: bot", "on_timeout: bots"),
        "study.yaml:16:17: timeline[1].on_timeout: unknown choice `bots`; did you mean `bot`? Known here: bot, wait, \
         leave, ask"
    );
    assert_eq!(
        fault("outcome: completed", "outcome: complete"),
        "study.yaml:43:14: timeline[4].outcome: unknown outcome `complete`; did you mean `completed`? Known here: \
         completed, no_consent, ineligible, failed_quiz, lobby_timeout, partner_left, technical, withdrew, timed_out, \
         study_full, left_early, page_failed"
    );
    assert_eq!(
        fault("format: 1", "format: 2"),
        "study.yaml:1:9: format: expected 1, the only format that this version reads, found `2`"
    );
    assert_eq!(
        fault("{min: 0, max: 3}", "{min: 4, max: 3}"),
        "study.yaml:25:18: timeline[2].input_delay: `min` is 4 and `max` is 3; `min` must not be above `max`"
    );
    assert_eq!(
        fault("window: 8", "window: 0"),
        "study.yaml:24:13: timeline[2].window: expected a whole number from 1 to 40 ticks, found `0`"
    );
    assert_eq!(
        fault("grace_s: 15", "grace_s: -1"),
        "study.yaml:29:30: timeline[2].on_disconnect.grace_s: expected a whole number from 1 to 600 seconds, found `-1`"
    );
}

#[test]
fn a_name_that_formulas_have_already_is_taken() {
    assert_eq!(
        fault("id: play", "id: screening"),
        "study.yaml:18:5: timeline[2].id: formulas call what the screening measured `screening`, and the episodes of \
         this stage would hide that; give the stage another id, such as `screening_play`"
    );
    assert_eq!(
        fault("id: play", "id: answers"),
        "study.yaml:18:5: timeline[2].id: formulas call the answers to forms `answers`, and the episodes of this stage \
         would hide that; give the stage another id, such as `answers_play`"
    );
    // Formulas reach the answers there only through `answers`.
    let folder = Folder::new("form-called-screening");
    folder.write("study.yaml", STUDY.replace("id: after", "id: screening"));
    assert!(study::load(&folder.path).is_ok());
    for (name, means) in [
        ("screening", "what the screening measured"),
        ("score", "something of the running episode"),
        ("seat", "something of the running episode"),
    ] {
        let found = fault(
            "    window: 8\n",
            &format!("    window: 8\n    for_each: {{{name}: [1, 2]}}\n"),
        );
        assert_eq!(
            found,
            format!(
                "study.yaml:25:16: timeline[2].for_each.{name}: formulas call {means} `{name}`, so one would not know \
                 which is meant; give these values another name"
            )
        );
    }
}

#[test]
fn ids_versions_and_keys_are_checked() {
    assert_eq!(
        fault("id: small", "id: Small Study"),
        "study.yaml:3:7: study.id: `Small Study` is not an id; use lower-case letters, digits, `_` and `-`, \
         a letter first, at most 40 in all"
    );
    assert_eq!(
        fault("id: after", "id: how"),
        "study.yaml:30:5: timeline[3].id: `how` is already the id of the stage on line 9; \
         ids name stages in the data, so give each its own"
    );
    assert_eq!(
        fault("env: overcooked@2.0.0", "env: overcooked"),
        "study.yaml:20:10: timeline[2].env: `overcooked` names no version; write `id@version` with three numbers, \
         such as `overcooked@2.0.0`"
    );
    assert_eq!(
        fault("[Space]", "[w]"),
        "study.yaml:28:25: timeline[2].keys.pick_up_or_drop[0]: `w` is not the code of a key; did you mean `KeyW`?"
    );
    assert_eq!(
        fault("[Space]", "[ArrowUP]"),
        "study.yaml:28:25: timeline[2].keys.pick_up_or_drop[0]: `ArrowUP` is not the code of a key; \
         did you mean `ArrowUp`?"
    );
    let button = fault("[Space]", "[GamepadStarts]");
    assert!(
        button.contains("is no button of a gamepad; did you mean `GamepadStart`?"),
        "{button}"
    );
    assert_eq!(
        fault("[Space]", "[KeyW]"),
        "study.yaml:28:24: timeline[2].keys.pick_up_or_drop: `KeyW` is already a key of `move_up`; \
         a key can mean one action only"
    );
    assert_eq!(
        fault("[Space]", "[ShiftLeft+W]"),
        "study.yaml:28:25: timeline[2].keys.pick_up_or_drop[0]: `W` is not the code of a key; did you mean `KeyW`?"
    );
    assert_eq!(
        fault(
            "[KeyW, ArrowUp]",
            "[KeyW+ShiftLeft]\n      move_down: [ShiftLeft+KeyW]"
        ),
        "study.yaml:28:18: timeline[2].keys.move_down: `ShiftLeft+KeyW` is already a key of `move_up`; \
         a key can mean one action only"
    );
    assert_eq!(
        fault("[Space]", "[KeyQ+KeyQ]"),
        "study.yaml:28:25: timeline[2].keys.pick_up_or_drop[0]: `KeyQ` is there twice in `KeyQ+KeyQ`; \
         a chord is of different keys"
    );
    assert_eq!(
        fault("[Space]", "[KeyQ+KeyW+KeyE+KeyR]"),
        "study.yaml:28:25: timeline[2].keys.pick_up_or_drop[0]: `KeyQ+KeyW+KeyE+KeyR` is a chord of 4 keys; \
         people hold 3 at most"
    );
    assert_eq!(
        fault("[Space]", "[ControlLeft]"),
        "study.yaml:28:25: timeline[2].keys.pick_up_or_drop[0]: `ControlLeft` cannot be a key: what is pressed with \
         Ctrl, Alt or Meta belongs to the browser; take another one, such as `ShiftLeft`"
    );
    assert_eq!(
        fault("language: en", "language: english"),
        "study.yaml:7:13: study.language: `english` is not a language tag; write one like en, de or pt-BR"
    );
    assert_eq!(
        fault("title: Small", "title: {de: Klein}"),
        "study.yaml:5:10: study.title: no text for `en`, the language of the study; add a line `en: …`"
    );
}

#[test]
fn every_language_of_the_study_is_there_in_every_text_and_page() {
    let languages = |name: &str, languages: &str| {
        faults(name, |_, text| {
            let to = format!("language: en\n  languages: {languages}");
            swap(text, "language: en", &to);
        })
    };
    assert_eq!(
        languages("languages-own", "[de, fr]"),
        [
            "study.yaml:8:14: study.languages: `en`, the language of the study, is not among them; add it, or write one of them as `study.language`"
        ]
    );
    assert_eq!(
        languages("languages-twice", "[en, de, en]"),
        ["study.yaml:8:23: study.languages[2]: `en` is there twice; leave one of them out"]
    );
    let missing = languages("languages-pages", "[en, de]");
    assert_eq!(
        missing[0],
        "study.yaml:12:13: timeline[0].pages[0]: `how.md` is not there in `de`, one of `study.languages`; write `how.de.md`"
    );
    let title = faults("languages-title", |folder, text| {
        for page in ["how.de.md", "thanks.de.md"] {
            folder.write(page, "# Hallo");
        }
        swap(text, "language: en", "language: en\n  languages: [en, de]");
        swap(text, "title: Small", "title: {en: Small, fr: Petit}");
    });
    assert_eq!(
        title,
        [
            "study.yaml:5:10: study.title: no text for `de`, one of `study.languages`; add a line `de: …`"
        ]
    );
}

#[test]
fn nobody_gets_stuck() {
    assert_eq!(
        fault("[self, partner]", "[self, partner, partner]"),
        "study.yaml:14:5: timeline[1].group_size: groups of 2, but an env stage that follows has 3 people; \
         make the two equal"
    );
    assert_eq!(
        fault("[self, partner]", "[partner, partner]"),
        "study.yaml:21:14: timeline[2].players: `self` is there 0 times; write it once, and for each other seat \
         `partner`, an AI such as `{policy: cook}`, or `vacant`: `[self, partner]`. A factor chooses the participant's \
         seat by `seat: \"{{ side }}\"`, with the levels 0 and 1"
    );
    assert_eq!(
        fault("[self, partner]", "[self, vacnt]"),
        "study.yaml:21:21: timeline[2].players[1]: unknown player `vacnt`; did you mean `vacant`? \
         Known here: self, partner, vacant"
    );
    assert_eq!(
        faults("bot-player", |_, text| swap(
            text,
            "[self, partner]",
            "[self, {polcy: cook}, partner]"
        )),
        [
            "study.yaml:21:21: timeline[2].players[1].policy: missing; write for example `policy: cook`",
            "study.yaml:21:22: timeline[2].players[1].polcy: unknown key; did you mean `policy`? Known here: policy, disclose, temperature, every_ticks, action_mask, observation, delay_ticks, noise",
        ]
    );
    let lobby = STUDY.find("  - id: lobby").expect("a lobby")
        ..STUDY.find("  - id: play").expect("an env stage");
    assert_eq!(
        fault(&STUDY[lobby], ""),
        "study.yaml:15:5: timeline[1].players: 2 people, but no lobby comes before this stage, so nobody would \
         ever have a partner; add one: `- {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: wait}`"
    );
    let play = STUDY.find("  - id: play").expect("an env stage")
        ..STUDY.find("  - id: after").expect("a survey");
    assert_eq!(
        fault(&STUDY[play], ""),
        "study.yaml:12:5: timeline[1]: a lobby makes a group, but no stage that people play together follows it, up to \
         the next lobby; put an env stage with `partner` among its players, or a chat, after it, or remove the lobby"
    );
    assert_eq!(
        fault(
            "  - id: how\n",
            "  - {id: early, type: end, file: thanks.md}\n  - id: how\n"
        ),
        "study.yaml:9:5: timeline[0]: an end stage before the last stage; what follows is never reached, \
         so move it to the end of the timeline"
    );
    assert_eq!(
        fault("on_timeout: bot", "on_timeout: wait"),
        "study.yaml:17:5: timeline[1].bot: never used, as `on_timeout` is `wait`; remove it or write `on_timeout: bot`"
    );
}

#[test]
fn files_must_be_there_and_inside() {
    assert_eq!(
        fault("pages: [how.md]", "pages: [howto.md, thanks.md]"),
        "study.yaml:11:13: timeline[0].pages[0]: there is no file `howto.md` in the study folder; did you mean `how.md`?"
    );
    assert_eq!(
        fault("file: thanks.md", "file: tanks.md"),
        "study.yaml:44:11: timeline[4].file: there is no file `tanks.md` in the study folder; did you mean `thanks.md`?"
    );
    assert_eq!(
        fault("file: thanks.md", "file: ../secret.md"),
        "study.yaml:44:11: timeline[4].file: `../secret.md` is not inside the study folder; \
         name a file like `how.md` or `pages/how.md`"
    );
    assert_eq!(
        faults("empty-page", |folder, _| folder.write("how.md", " \n")),
        [
            "study.yaml:11:13: timeline[0].pages[0]: `how.md` is empty; write what participants shall read"
        ]
    );
    assert_eq!(
        faults("latin-page", |folder, _| folder.write("how.md", b"caf\xe9")),
        ["study.yaml:11:13: timeline[0].pages[0]: `how.md` is not UTF-8 text; save it as UTF-8"]
    );
    assert_eq!(
        faults("picture", |folder, _| folder
            .write("how.md", "# Hi\n\nLook: ![soup](soup.png)\n")),
        ["how.md:3:7: there is no file `soup.png` in the study folder"]
    );
    let long = "x".repeat(70_000);
    assert_eq!(
        faults("long-page", |folder, _| folder.write("how.md", &long)),
        ["study.yaml:11:13: timeline[0].pages[0]: `how.md` has 70000 bytes; the limit is 65536"]
    );
}

#[test]
fn a_folder_without_a_study_says_what_is_looked_for() {
    let folder = Folder::new("none");
    let problems = study::load(&folder.path).expect_err("there is no study.yaml");
    let text = problems[0].to_string();
    assert!(
        text.starts_with("study.yaml: there is none in ")
            && text.ends_with("`coplay new overcooked my-study`"),
        "{text}"
    );
}

/// A guard of the survey, which stands on line 30.
fn guard(formula: &str) -> String {
    let with = format!("  - id: after\n    when: {formula}");
    fault("  - id: after", &with)
}

#[test]
fn guards_are_typed_and_can_hold() {
    assert_eq!(
        guard("play.episodes[0].scor > 3"),
        "study.yaml:31:28: timeline[3].when: unknown field `scor`; did you mean `score`? Known here: own_reward, own_score, partners, reason, rewards, score, scores, success, ticks"
    );
    assert_eq!(
        guard("play.episodes[0].score"),
        "study.yaml:31:11: timeline[3].when: the formula gives a number, and true or false is wanted here; compare it, as in `score >= 20`"
    );
    assert_eq!(
        guard("1 > 2"),
        "study.yaml:31:11: timeline[3].when: never holds, so nobody reaches what it guards; fix the formula, or remove what it guards"
    );
    assert_eq!(
        guard("answers.after.fun > 3"),
        "study.yaml:31:11: timeline[3].when: `after` does not come before what this guards, so that there are no answers yet and nobody gets there; ask for an earlier stage, or move `after` before it"
    );
    let in_copies = guard("'place == \"moon\"'\n    for_each: {place: [sun, stars]}");
    assert!(
        in_copies.starts_with("study.yaml:31:11: timeline[3].when: never holds"),
        "{in_copies}"
    );
    assert_eq!(
        faults("minus", |_, text| {
            swap(text, "id: play", "id: first-round");
            swap(
                text,
                "  - id: after",
                "  - id: after\n    when: size(first-round.episodes) > 0",
            );
        })[0],
        "study.yaml:31:16: timeline[3].when: `-` is a minus here, so `first-round` cannot be named in a formula; call it `first_round`"
    );
}

#[test]
fn a_run_tells_every_fault() {
    let found = faults("many", |folder, text| {
        swap(text, "timeout_s: 30", "timeout_s: never");
        swap(text, "rateMax: 7", "rateMax: 700");
        swap(text, "type: env", "type: envy");
        folder.write("thanks.md", "![x](x.png)");
    });
    let places: Vec<&str> = found
        .iter()
        .map(|line| line.split(": ").next().expect("a place"))
        .collect();
    assert_eq!(
        places,
        [
            "study.yaml:15:16",
            "study.yaml:19:11",
            "study.yaml:36:20",
            "thanks.md:1:1"
        ],
        "{found:#?}"
    );
}

#[test]
fn a_study_with_any_part_cut_out_or_put_twice_loads_or_is_reported_with_lines() {
    use proptest::prelude::*;
    let folder = Folder::new("any-cut");
    let len = STUDY.len();
    proptest!(|(a in 0..len, b in 0..len, twice: bool, junk in "[ -~\\n\u{e9}\u{1f600}]{0,6}")| {
        let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 60));
        let kept = if twice { &STUDY[from..to] } else { "" };
        let text = format!("{}{kept}{junk}{kept}{}", &STUDY[..from], &STUDY[to..]);
        folder.write("study.yaml", &text);
        let lines = u32::try_from(text.lines().count()).expect("a short file");
        match study::load(&folder.path) {
            Ok(study) => prop_assert!(!study.timeline.is_empty()),
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                for problem in problems.iter().filter(|problem| problem.file == "study.yaml") {
                    prop_assert!((1..=lines + 1).contains(&problem.line), "{}", problem);
                }
            }
        }
    });
}

/// The warnings about the good study after some replacements.
fn warnings(name: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let folder = Folder::new(name);
    let mut text = STUDY.to_owned();
    for (from, to) in changes {
        swap(&mut text, from, to);
    }
    folder.write("study.yaml", &text);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let found = study.list_warnings(&study::EnvFactsByStage::new());
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_odd_is_told_where_it_stands() {
    assert_eq!(warnings("odd-none", &[]), Vec::<String>::new());
    let wait = warnings(
        "odd-wait",
        &[
            ("on_timeout: bot", "on_timeout: wait"),
            ("    bot: {policy: cook}\n", ""),
        ],
    );
    assert_eq!(wait.len(), 1, "{wait:#?}");
    assert!(
        wait[0].starts_with("study.yaml:16:5: timeline[1].on_timeout: whoever is left over waits here without an end"),
        "{wait:#?}"
    );
    let framed = "format: 1\ndesign: {between: {framing: {levels: [ours, mine]}}}";
    let asked = "    pages: [how.md]\n    when: 'framing == \"ours\"'\n";
    let mixed = [("format: 1", framed), ("    pages: [how.md]\n", asked)];
    let told = warnings("odd-mixed", &mixed);
    let line = "study.yaml:14:5: timeline[1]: people with different levels of `framing` are put into one group; \
                write `match: {same: [framing]}` to match only people with the same level";
    assert!(told.len() == 1 && told[0].starts_with(line), "{told:#?}");
    for said in [
        "group_size: 2\n    match: {same: []}",
        "group_size: 2\n    match: {same: [framing]}",
    ] {
        let said = [&mixed[..], &[("group_size: 2", said)]].concat();
        assert_eq!(warnings("odd-said", &said), Vec::<String>::new());
    }
    let paid =
        "format: 1\nrecruitment: {currency: GBP, base: 1.00, minutes: 10, floor_per_hour: 9.00}";
    assert_eq!(
        warnings("odd-pay", &[("format: 1", paid)]),
        [
            "study.yaml:2:1: recruitment: `left_early` can happen and has no pay rule, so nothing is paid; write `time_rate_per_hour: 9.00` to pay the time, or say it in `outcomes`: `left_early: {do: return, pay: none}`",
            "study.yaml:2:1: recruitment: `timed_out` can happen and has no pay rule, so nothing is paid; write `time_rate_per_hour: 9.00` to pay the time, or say it in `outcomes`: `timed_out: {do: return, pay: none}`",
            "study.yaml:2:30: recruitment.base: 1.00 for 10 minutes are 6.00 an hour, below `floor_per_hour: 9`; pay 1.50 or more",
        ]
    );
}
