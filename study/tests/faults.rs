//! Seeded faults: each is reported at its line, with the way to mend it.

mod folder;

use std::sync::atomic::{AtomicUsize, Ordering};

use folder::{Folder, STUDY};

/// Changes one thing of a good study and gives what is then reported.
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
         Known here: id, type, group_size, match, presence, timeout_s, on_timeout, regroup_s, bot, else, for_each, repeat, when"
    );
    assert_eq!(
        fault("  language: en", "  language: en\n  colour: red"),
        "study.yaml:8:3: study.colour: unknown key; known here: id, version, language, languages, title, contact, protocol, \
         retention_days, on_withdraw, expires_h"
    );
    assert_eq!(
        fault("format: 1", "format: 1\nrecruiting: {provider: prolific}"),
        "study.yaml:2:1: recruiting: unknown key; did you mean `recruitment`? Known here: format, study, recruitment, \
         screening, net, design, timeline, bonus"
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
         Known here: consent, instructions, quiz, survey, lobby, env, chat, debrief, external, end"
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
         study_full"
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
    // Formulas reach what is answered there only through `answers`.
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
fn the_window_and_the_input_delay_fit_together() {
    assert_eq!(
        fault("window: 8", "window: 38"),
        "study.yaml:24:13: timeline[2].window: a window of 38 and an input delay of up to 3 are more than 40 ticks \
         together; write a window of at most 37"
    );
    assert_eq!(
        fault("window: 8", "window: 41"),
        "study.yaml:24:13: timeline[2].window: expected a whole number from 1 to 40 ticks, found `41`"
    );
}

/// Replaces the terms of the env stage for a person who is gone; the good study's stand on line 29, column 5.
fn gone(terms: &str) -> String {
    fault("{grace_s: 15}", terms)
}

#[test]
fn an_ai_partner_that_shall_take_a_seat_is_named() {
    let without_lobby_bot = |terms: &str| {
        let name = format!("no-bot-{}", terms.len());
        let mut found = faults(&name, |_, text| {
            swap(text, "on_timeout: bot", "on_timeout: wait");
            swap(text, "    bot: {policy: cook}\n", "");
            swap(text, "{grace_s: 15}", terms);
        });
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    };
    let who = "calls an AI partner, but neither this block nor a lobby before the stage names one; \
               write for example `bot: {policy: cook, disclose: true}` in this block";
    assert_eq!(
        without_lobby_bot("{grace_s: 15, then: bot}"),
        format!("study.yaml:28:34: timeline[2].on_disconnect.then: {who}")
    );
    assert_eq!(
        without_lobby_bot("{meanwhile: bot, then: technical}"),
        format!("study.yaml:28:21: timeline[2].on_disconnect.meanwhile: {who}")
    );
    assert_eq!(
        without_lobby_bot("{first_half: partner_left, second_half: bot}"),
        format!("study.yaml:28:47: timeline[2].on_disconnect.second_half: {who}")
    );
    assert_eq!(
        gone("{then: technical, bot: {policy: cook}}"),
        "study.yaml:29:38: timeline[2].on_disconnect.bot: never used, as no AI partner takes the seat; \
         remove it, or write `then: bot` or `meanwhile: bot`"
    );
    assert_eq!(
        gone("{then: bot, bot: {policy: cook, disclose: no}}"),
        "study.yaml:29:62: timeline[2].on_disconnect.bot.disclose: `no` means different things to different programs; \
         write true or false"
    );
}

#[test]
fn what_follows_is_said_once_for_each_half() {
    assert_eq!(
        gone("{then: bot, second_half: bot}"),
        "study.yaml:29:21: timeline[2].on_disconnect.then: says what follows in the whole episode, and a half says it \
         again; keep `then`, or `first_half` and `second_half`"
    );
    assert_eq!(
        gone("{first_half: partner_left}"),
        "study.yaml:29:20: timeline[2].on_disconnect.second_half: missing, as `first_half` says what follows in the \
         other half; write for example `second_half: bot`"
    );
    assert_eq!(
        gone("{second_half: bot}"),
        "study.yaml:29:20: timeline[2].on_disconnect.first_half: missing, as `second_half` says what follows in the \
         other half; write for example `first_half: partner_left`"
    );
}

#[test]
fn the_words_of_a_person_who_is_gone_are_checked() {
    assert_eq!(
        gone("{meanwhile: holt}"),
        "study.yaml:29:32: timeline[2].on_disconnect.meanwhile: unknown choice `holt`; did you mean `hold`? \
         Known here: stand, bot, hold"
    );
    assert_eq!(
        gone("{then: partner-left}"),
        "study.yaml:29:27: timeline[2].on_disconnect.then: unknown choice `partner-left`; did you mean `partner_left`? \
         Known here: bot, partner_left, technical"
    );
    assert_eq!(
        gone("{grace: 15}"),
        "study.yaml:29:21: timeline[2].on_disconnect.grace: unknown key; did you mean `grace_s`? \
         Known here: grace_s, meanwhile, then, first_half, second_half, bot"
    );
}

#[test]
fn a_hidden_page_is_told_before_it_counts_as_gone() {
    let hidden = |terms: &str| {
        let with = format!("{{grace_s: 15}}\n    hidden_tab: {terms}");
        fault("{grace_s: 15}", &with)
    };
    assert_eq!(
        hidden("{warn_s: 30}"),
        "study.yaml:30:17: timeline[2].hidden_tab: `drop_s` is 20 and `warn_s` is 30; the others must be told before the \
         person counts as gone, so `drop_s` must not be below `warn_s`"
    );
    assert_eq!(
        hidden("{warn_s: 3, drops_s: 9}"),
        "study.yaml:30:29: timeline[2].hidden_tab.drops_s: unknown key; did you mean `drop_s`? \
         Known here: warn_s, drop_s"
    );
    assert_eq!(
        hidden("{warn_s: 0}"),
        "study.yaml:30:26: timeline[2].hidden_tab.warn_s: expected a whole number from 1 to 600 seconds, found `0`"
    );
}

#[test]
fn the_words_of_the_network_are_checked() {
    let net = |terms: &str| fault("format: 1", &format!("format: 1\nnet: {terms}"));
    assert_eq!(
        net("{ice: relays}"),
        "study.yaml:2:12: net.ice: unknown choice `relays`; did you mean `relay`? Known here: all, relay"
    );
    assert_eq!(
        net("{ice: relay, fallback: true}"),
        "study.yaml:2:29: net.fallback: unknown choice `true`; known here: websocket, none"
    );
    assert_eq!(
        net("{turn: none}"),
        "study.yaml:2:7: net.turn: unknown key; known here: ice, fallback"
    );
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
         `partner`, an AI such as `{policy: cook}`, or `vacant`: `[self, partner]`"
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
            "study.yaml:21:22: timeline[2].players[1].polcy: unknown key; did you mean `policy`? Known here: policy, disclose, temperature, every_ticks",
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
        text.starts_with("study.yaml: cannot be read in ")
            && text.ends_with("such as examples/overcooked-dyad"),
        "{text}"
    );
}

#[test]
fn yaml_on_which_programs_differ_is_refused() {
    assert_eq!(
        fault("  version: 1.10", "  version: 1.10\n  version: 1.11"),
        "study.yaml:5:3: study.version: this key is already on line 4; keep one of the two"
    );
    assert_eq!(
        fault("{policy: cook}", "{policy: cook, disclose: no}"),
        "study.yaml:17:35: timeline[1].bot.disclose: `no` means different things to different programs; \
         write true or false"
    );
    assert_eq!(
        fault("choices: [first, second]", "choices: [yes, \"no\"]"),
        "study.yaml:40:21: timeline[3].surveyjs.elements[1].choices[0]: `yes` without quotes is a word for some programs \
         and true or false for others; write \"yes\" in quotes, or true or false"
    );
    assert_eq!(
        fault("title: Small", "title: &t Small"),
        "study.yaml:5:13: anchors (`&name`) are not read; remove it"
    );
    assert_eq!(
        fault("title: Small", "title: !!str Small"),
        "study.yaml:5:16: tags (`!name`) are not read; remove it"
    );
    let tab = fault("    group_size: 2", "\tgroup_size: 2");
    assert!(
        tab.starts_with("study.yaml:14:") && tab.ends_with("; indent with spaces, not tabs"),
        "{tab}"
    );
    let colon = fault("title: Small", "title: Small: a study");
    assert!(
        colon.starts_with("study.yaml:5:")
            && colon.ends_with("; put text that contains a colon in quotes"),
        "{colon}"
    );
}

#[test]
fn text_that_is_no_yaml_is_told_where_its_cause_stands() {
    assert_eq!(
        fault("pages: [how.md]", "pages: [how.md"),
        "study.yaml:11:12: this is not well-formed: `[` is never closed; write `]` where the list ends"
    );
    assert_eq!(
        fault("bot: {policy: cook}", "bot: {policy: cook"),
        "study.yaml:17:10: this is not well-formed: `{` is never closed; write `}` where the block ends"
    );
    assert_eq!(
        fault("title: Small", "title: \"Small"),
        "study.yaml:5:10: this is not well-formed: the quote `\"` is never closed; write `\"` where the text ends"
    );
    assert_eq!(
        fault("title: Small", "title:Small"),
        "study.yaml:5:8: this is not well-formed: no space after the colon; write `title: Small`"
    );
    assert_eq!(
        fault("    group_size: 2", "   group_size: 2"),
        "study.yaml:14:4: this is not well-formed: indented by 3, and the lines before by 0, 2, 4; put keys of one block below each other"
    );
    assert_eq!(
        fault("layout: cramped_room", "layout: {{ kitchen }}"),
        "study.yaml:23:16: a key must be a word, not a list or a block of keys; a name in braces stands in quotes: `\"{{ name }}\"`"
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
        "study.yaml:31:28: timeline[3].when: unknown field `scor`; did you mean `score`? Known here: partners, reason, score, success, ticks"
    );
    assert_eq!(
        guard("play.episodes[0].score"),
        "study.yaml:31:11: timeline[3].when: the formula gives a number, and true or false is wanted here; compare it, as in `score >= 20`"
    );
    assert_eq!(
        guard("1 > 2"),
        "study.yaml:31:11: timeline[3].when: never holds, so nobody reaches what it guards; mend the formula, or remove what it guards"
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
fn text_fields_take_scalars_as_they_are_written() {
    let folder = Folder::new("as-written");
    folder.write("study.yaml", STUDY.replace("title: Small", "title: No"));
    let study = study::load(&folder.path).expect("a good study");
    assert_eq!(
        (study.title.usual(), study.version.as_str()),
        ("No", "1.10")
    );
}

#[test]
fn forms_are_checked() {
    assert_eq!(
        fault("type: rating", "type: ratings"),
        "study.yaml:34:17: timeline[3].surveyjs.elements[0].type: unknown element type `ratings`; did you mean `rating`? \
         Known here: radiogroup, dropdown, buttongroup, checkbox, tagbox, rating, boolean, text, comment, html, matrix, imagepicker, ranking, \
         slider, multipletext, matrixdropdown, panel"
    );
    assert_eq!(
        fault("          name: fun\n", ""),
        "study.yaml:34:11: timeline[3].surveyjs.elements[0].name: missing; write for example `name: thoughts`"
    );
    assert_eq!(
        fault("name: place", "name: fun"),
        "study.yaml:39:17: timeline[3].surveyjs.elements[1].name: `fun` is already the name of another element; \
         names are the columns of the data"
    );
    assert_eq!(
        faults("choice-key", |_, text| swap(
            text,
            "[first, second]",
            "[first, {valeu: b}]"
        )),
        [
            "study.yaml:40:28: timeline[3].surveyjs.elements[1].choices[1].value: missing; write for example `value: a`",
            "study.yaml:40:29: timeline[3].surveyjs.elements[1].choices[1].valeu: unknown key; did you mean `value`? \
             Known here: value, text",
        ]
    );
}

/// Adds an element to the form; it stands from line 41 on.
fn element(json: &str) -> String {
    let with = format!("choices: [first, second]\n        - {json}");
    fault("choices: [first, second]", &with)
}

#[test]
fn conditions_of_forms_ask_for_what_is_there_and_was_asked() {
    let shown = |condition: &str| {
        element(&format!(
            "{{type: comment, name: why, visibleIf: \"{condition}\"}}"
        ))
    };
    assert_eq!(
        shown("{fun} is 3"),
        "study.yaml:41:56: timeline[3].surveyjs.elements[2].visibleIf: `is` is not an operator; known here: = <> < <= > >= \
         contains notcontains anyof allof noneof empty notempty and or ! + - * / %"
    );
    assert_eq!(
        shown("{fnu} = 3"),
        "study.yaml:41:51: timeline[3].surveyjs.elements[2].visibleIf: the form has no element `fnu`; did you mean `fun`? \
         Known here: fun, place, why"
    );
    assert_eq!(
        shown("{fun} = 3 and ({place} = 'first'"),
        "study.yaml:41:64: timeline[3].surveyjs.elements[2].visibleIf: `(` is not closed; write `)` where it ends"
    );
    assert_eq!(
        shown("age({fun}) = 3"),
        "study.yaml:41:50: timeline[3].surveyjs.elements[2].visibleIf: there are no functions in conditions, so `age(…)` is \
         not read; known here: = <> < <= > >= contains notcontains anyof allof noneof empty notempty and or ! + - * / %"
    );
    assert_eq!(
        fault(
            "name: fun",
            "name: fun\n          visibleIf: \"{place} = 'first'\""
        ),
        "study.yaml:36:24: timeline[3].surveyjs.elements[0].visibleIf: `place` is asked later, and what is shown can follow \
         from what was asked before alone; move `place` up"
    );
}

/// The name of a picture in the folder of a test.
const DOT: &str = "dot.png";

/// The smallest picture.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The faults of a form with one more element, beside which a picture lies.
fn with_picture(name: &str, json: &str) -> Vec<String> {
    faults(name, |folder, text| {
        folder.write(DOT, PICTURE);
        let with = format!("choices: [first, second]\n        - {json}");
        swap(text, "choices: [first, second]", &with);
    })
}

#[test]
fn questions_under_one_and_tables_are_checked_part_by_part() {
    assert_eq!(
        element("{type: multipletext, name: who, items: [{name: a}, {name: b, inputType: numbr}]}"),
        "study.yaml:41:83: timeline[3].surveyjs.elements[2].items[1].inputType: unknown input type `numbr`; did you mean \
         `number`? Known here: text, number, range, email, tel, date, time, url"
    );
    assert_eq!(
        element("{type: multipletext, name: who, items: [{name: a}, {name: a}]}"),
        "study.yaml:41:63: timeline[3].surveyjs.elements[2].items[1].name: `a` is already the name of another of these texts; \
         names tell their values apart"
    );
    assert_eq!(
        element(
            "{type: matrixdropdown, name: t, rows: [a], columns: [{name: b, cellType: rating, inputType: number}]}"
        ),
        "study.yaml:41:92: timeline[3].surveyjs.elements[2].columns[0].inputType: unknown key; known here: name, title, \
         requiredErrorText, isRequired, cellType, minRateDescription, maxRateDescription, rateValues, rateMin, rateStep, \
         rateCount, rateMax"
    );
    assert_eq!(
        element("{type: matrixdropdown, name: t, rows: [a], columns: [{name: b}]}"),
        "study.yaml:41:64: timeline[3].surveyjs.elements[2].columns[0]: nothing to choose; write `choices` here, or for all \
         columns at the table"
    );
    assert_eq!(
        element(
            "{type: matrixdropdown, name: t, rows: [a], choices: [1], columns: [{name: b}], defaultValue: {a: {b: 2}}}"
        ),
        "study.yaml:41:104: timeline[3].surveyjs.elements[2].defaultValue: {\"a\":{\"b\":2}} is not an answer that this \
         element takes"
    );
}

#[test]
fn sliders_and_orders_are_checked() {
    assert_eq!(
        element("{type: slider, name: s, min: 5, max: 5}"),
        "study.yaml:41:43: timeline[3].surveyjs.elements[2].max: from 5 to 5 by 1 is 0 steps; there must be 1 to 10000"
    );
    assert_eq!(
        element("{type: slider, name: s, defaultValue: 0.5}"),
        "study.yaml:41:49: timeline[3].surveyjs.elements[2].defaultValue: 0.5 is not an answer that this element takes"
    );
    assert_eq!(
        element("{type: ranking, name: r, choices: [a, b], defaultValue: [a]}"),
        "study.yaml:41:67: timeline[3].surveyjs.elements[2].defaultValue: [\"a\"] is not an answer that this element takes"
    );
    let refused = element("{type: signaturepad, name: s}");
    assert_eq!(
        refused,
        "study.yaml:41:12: timeline[3].surveyjs.elements[2].type: a `signaturepad` is not asked here, as a signature says \
         who somebody is, and data here do not; a stage of `type: consent` records who agreed to which text, and when"
    );
    let refused = element("{type: file, name: s}");
    assert!(
        refused.contains("[2].type: a `file` is not asked here"),
        "{refused}"
    );
}

#[test]
fn pictures_to_choose_are_there_and_have_words() {
    assert_eq!(
        with_picture(
            "picture-gone",
            "{type: imagepicker, name: p, choices: [{value: a, text: A dot, imageLink: dto.png}, {value: b, imageLink: dot.png}]}"
        ),
        [
            "study.yaml:41:85: timeline[3].surveyjs.elements[2].choices[0].imageLink: there is no file `dto.png` in the study folder; did \
             you mean `dot.png`?",
            "study.yaml:41:95: timeline[3].surveyjs.elements[2].choices[1].text: missing; people who do not see the picture \
             need words for it: write for example `text: A red pot`",
        ]
    );
    let elsewhere = with_picture(
        "picture-elsewhere",
        "{type: imagepicker, name: p, choices: [{value: a, text: A dot, imageLink: \"https://example.org/dot.png\"}]}",
    );
    assert!(
        elsewhere[0].contains(
            "choices[0].imageLink: `https://example.org/dot.png` is not in the study folder"
        ),
        "{elsewhere:?}"
    );
}

#[test]
fn pictures_of_forms_are_media_of_the_study() {
    let folder = Folder::new("form-pictures");
    std::fs::create_dir_all(folder.path.join("forms")).expect("a folder of the test");
    folder.write("forms/dot.png", PICTURE);
    folder.write(
        "forms/post.json",
        r#"{"elements": [{"type": "imagepicker", "name": "p", "choices": [{"value": 1, "text": "A dot", "imageLink": "dot.png"}]}]}"#,
    );
    let mut text = STUDY.to_owned();
    let (inline, end) = (
        text.find("    surveyjs:").expect("a form"),
        text.find("  - id: thanks").expect("an end"),
    );
    text.replace_range(inline..end, "    surveyjs_file: forms/post.json\n");
    folder.write("study.yaml", &text);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let media: Vec<_> = study.media().collect();
    assert_eq!((media.len(), media[0].file.as_str()), (1, "forms/dot.png"));
    let study::Kind::Survey(survey) = &study.timeline[3].kind else {
        panic!("not a survey")
    };
    let shown = survey.in_language("en");
    assert_eq!(
        shown["elements"][0]["choices"][0]["imageLink"],
        media[0].path()
    );
}

#[test]
fn rules_of_forms_can_be_fulfilled() {
    assert_eq!(
        element("{type: text, name: age, inputType: number, min: 20, max: 10}"),
        "study.yaml:41:54: timeline[3].surveyjs.elements[2].min: `min` is 20 and `max` is 10, so nothing fulfils it; `min` \
         must not be above `max`"
    );
    assert_eq!(
        element("{type: text, name: code, validators: [{type: regx, regex: a}]}"),
        "study.yaml:41:56: timeline[3].surveyjs.elements[2].validators[0].type: unknown validator `regx`; did you mean \
         `regex`? Known here: numeric, text, regex, email, answercount, expression"
    );
    let regex = element("{type: text, name: code, validators: [{type: regex, regex: \"(a\"}]}");
    assert!(
        regex.starts_with("study.yaml:41:70: timeline[3].surveyjs.elements[2].validators[0].regex: not a regular expression"),
        "{regex}"
    );
    let never = element("{type: text, name: code, validators: [{type: answercount, minCount: 2}]}");
    assert!(
        never.starts_with(
            "study.yaml:41:50: timeline[3].surveyjs.elements[2].validators[0].type: never applies"
        ),
        "{never}"
    );
    assert_eq!(
        element("{type: html, name: note, html: Hi, isRequired: true}"),
        "study.yaml:41:46: timeline[3].surveyjs.elements[2].isRequired: this element asks nothing itself; remove it, or \
         write it at one that does"
    );
    assert_eq!(
        element("{type: rating, name: more, defaultValue: 9}"),
        "study.yaml:41:52: timeline[3].surveyjs.elements[2].defaultValue: 9 is not an answer that this element takes"
    );
    assert_eq!(
        element("{type: comment, name: more, choicesVisibleIf: x}"),
        "study.yaml:41:39: timeline[3].surveyjs.elements[2].choicesVisibleIf: unknown key; known here: name, title, \
         description, requiredErrorText, isRequired, visibleIf, requiredIf, enableIf, defaultValue, type, placeholder, \
         maxLength, validators, correctAnswer"
    );
}

#[test]
fn what_is_for_the_eyes_of_surveyjs_alone_is_a_warning() {
    let with = "surveyjs:\n      showProgressBar: top\n      elements:";
    assert_eq!(
        warnings("odd-looks", &[("surveyjs:\n      elements:", with)]),
        [
            "study.yaml:33:7: timeline[3].surveyjs.showProgressBar: changes nothing here, as pages show every form in one \
             way; remove it, or leave it for SurveyJS"
        ]
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
fn a_form_in_a_file_is_reported_in_that_file() {
    let with = |name: &str, json: &str| {
        faults(name, |folder, text| {
            let inline = text.find("    surveyjs:").expect("a form")
                ..text.find("  - id: thanks").expect("an end");
            text.replace_range(inline, "    surveyjs_file: post.json\n");
            folder.write("post.json", json);
        })
    };
    assert_eq!(
        with(
            "json-type",
            "{\n\t\"elements\": [\n\t\t{\"type\": \"rate\", \"name\": \"fun \\ud83d\\ude00\"}\n\t]\n}"
        )[0],
        "post.json:3:12: elements[0].type: unknown element type `rate`; known here: \
         radiogroup, dropdown, buttongroup, checkbox, tagbox, rating, boolean, text, comment, html, matrix, imagepicker, ranking, \
         slider, multipletext, matrixdropdown, panel"
    );
    assert_eq!(
        with("json-comma", "{\n\"elements\": [],\n}"),
        [
            "post.json:3:1: this is not JSON: key must be a string at line 3 column 1; check its commas, quotes and brackets"
        ]
    );
    assert_eq!(
        with("json-empty", "{\"elements\": []}"),
        ["post.json:1:14: elements: 0 elements; there must be 1 to 200"]
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

/// What is odd about the good study after some replacements.
fn warnings(name: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let folder = Folder::new(name);
    let mut text = STUDY.to_owned();
    for (from, to) in changes {
        swap(&mut text, from, to);
    }
    folder.write("study.yaml", &text);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let found = study.warnings(&study::Playable::new());
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
    let paid =
        "format: 1\nrecruitment: {currency: GBP, base: 1.00, minutes: 10, floor_per_hour: 9.00}";
    assert_eq!(
        warnings("odd-pay", &[("format: 1", paid)]),
        [
            "study.yaml:2:1: recruitment: `timed_out` can happen and has no pay rule, so nothing is paid; write `time_rate_per_hour: 9.00` to pay the time, or say it in `outcomes`: `timed_out: {do: return, pay: none}`",
            "study.yaml:2:1: recruitment: `withdrew` can happen and has no pay rule, so nothing is paid; write `time_rate_per_hour: 9.00` to pay the time, or say it in `outcomes`: `withdrew: {do: return, pay: none}`",
            "study.yaml:2:30: recruitment.base: 1.00 for 10 minutes are 6.00 an hour, below `floor_per_hour: 9`; pay 1.50 or more",
        ]
    );
}
