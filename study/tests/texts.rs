//! Values in the texts that participants read.

use crate::folder::{self, Folder};
use protocol::control::{Answer, EndReason, StageView};
use study::{Episode, Outcome, PartnerKind, Progress, ProgressEvent, Study, UnitAssignment};

const STUDY: &str = "format: 1
study: {id: texts, version: 1.0.0, title: Texts, contact: lab@example.edu, language: en, languages: [en, de]}
recruitment: {currency: GBP, base: 1.00}
bonus: sum(play.episodes.map(e, e.score)) * 0.05
design:
  within:
    maze: {levels: [red, blue], order: fixed}
timeline:
  - id: intake
    type: survey
    surveyjs:
      elements:
        - {type: text, name: age, inputType: number, title: Age}
        - type: checkbox
          name: likes
          choices:
            - {value: t, text: {en: Tea, de: Tee}}
            - {value: c, text: {en: Coffee, de: Kaffee}}
        - {type: comment, name: about}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, {policy: cook}], for_each: maze, config: {layout: '{{ maze }}'}}
  - id: after
    type: survey
    surveyjs:
      elements:
        - {type: comment, name: why, title: \"You are {{ answers.intake.age }} and like {{ answers.intake.likes }}.\"}
        - {type: html, name: told, html: \"<b>{{ answers.intake.about }}</b>\"}
  - {id: debrief, type: debrief, file: debrief.md}
  - {id: thanks, type: end, file: thanks.md}
";

const DEBRIEF: &str = "# Well done

You wrote \"{{ answers.intake.about }}\" and played {{ order.maze }}, last with {{ partner == \"ai\" ? \"a *program*\" : \"a person\" }}.
You get {{ bonus | money }}, that is {{ bonus / 3 | percent }} of 3, for {{ play.episodes[0].score / 3 | whole }} or {{ mean(play.episodes.map(e, e.score)) }} points.

`{{ bonus }}` <!-- {{ nobody }} -->
";

fn folder(name: &str, text: &str, debrief: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("study.yaml", text);
    for language in ["", ".de"] {
        folder.write(&format!("thanks{language}.md"), "# Thanks\n");
        folder.write(&format!("debrief{language}.md"), debrief);
    }
    folder
}

fn answer(name: &str, value: &str) -> Answer {
    Answer {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// Somebody who answered, played, and reads this form and this page.
fn walk(study: &Study, language: &str) -> (String, String) {
    let own = UnitAssignment {
        orders: [("maze".to_owned(), vec!["red".to_owned(), "blue".to_owned()])].into(),
        ..UnitAssignment::default()
    };
    let mut at = Progress::new(study, own);
    at.choose_language(study, Some(&language.to_owned()), &[]);
    let answers = [
        answer("age", "31"),
        answer("likes", "[\"c\",\"t\"]"),
        answer("about", "\"<i>{{ bonus }}</i>\""),
    ];
    let answers = &answers[..];
    let mut step = |event: ProgressEvent<'_>| {
        at.handle(study, event).expect("a step");
        at.view(study)
    };
    step(ProgressEvent::StageDone { at: 0, answers });
    let episode = |score| Episode {
        score,
        ticks: 10,
        partners: PartnerKind::Ai,
        ..Episode::unplayed_facts(EndReason::Played)
    };
    step(ProgressEvent::EpisodeEnded(&episode(20)));
    let form = step(ProgressEvent::EpisodeEnded(&episode(25)));
    let StageView::Survey { surveyjs } = form else {
        panic!("a form: {form:?}");
    };
    let page = step(ProgressEvent::StageDone {
        at: 3,
        answers: &[],
    });
    let StageView::Debrief { page, .. } = page else {
        panic!("the debriefing: {page:?}");
    };
    (surveyjs, page)
}

#[test]
fn forms_and_pages_show_answers_bonus_partner_and_order_in_the_participants_language() {
    let folder = folder("texts-shown", STUDY, DEBRIEF);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let (form, page) = walk(&study, "en");
    assert!(form.contains("You are 31 and like Coffee, Tea."), "{form}");
    assert!(
        form.contains("<b>&lt;i&gt;{{ bonus }}&lt;/i&gt;</b>"),
        "{form}"
    );
    for part in [
        "You wrote \"&lt;i&gt;{{ bonus }}&lt;/i&gt;\" and played red, blue, last with a *program*.",
        "You get £2.25, that is 75% of 3, for 7 or 22.5 points.",
        "<code>{{ bonus }}</code>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("nobody"), "{page}");
    let (form, page) = walk(&study, "de");
    assert!(form.contains("like Kaffee, Tee."), "{form}");
    assert!(
        page.contains("get 2,25\u{a0}£, that is 75\u{a0}% of 3, for 7 or 22,5 points"),
        "{page}"
    );
}

#[test]
fn what_has_no_value_is_a_dash() {
    let folder = folder(
        "texts-dash",
        STUDY,
        "Score: {{ play.episodes[7].score }}.\n",
    );
    let study = study::load(&folder.path).expect("a study");
    assert!(walk(&study, "en").1.contains("Score: –."));
}

#[test]
fn unknown_names_in_texts_are_told_at_their_place() {
    let told = |text: &str, debrief: &str| {
        let name: u64 = text.bytes().chain(debrief.bytes()).map(u64::from).sum();
        let folder = folder(&format!("texts-told-{name}"), text, debrief);
        let problems = study::load(&folder.path).err().unwrap_or_default();
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        told.join("\n")
    };
    let page = told(
        STUDY,
        "# Hi\n\nYour `{{ x }}` age: {{ answers.intake.agee }}\n",
    );
    assert!(page.contains("debrief.md:3:21: "), "{page}");
    assert!(page.contains("agee"), "{page}");
    let format = told(STUDY, "{{ bonus | pounds }}\n");
    assert!(
        format.contains("there is no format `pounds`; known here: `| money`"),
        "{format}"
    );
    let open = told(STUDY, "{{ bonus \n");
    assert!(
        open.contains("debrief.md:1:1: `{{` has no end on its line"),
        "{open}"
    );
    let link = told(STUDY, "[a](https://a.example/{{bonus}})\n");
    assert!(link.contains("cannot be set into addresses"), "{link}");
    let form = STUDY.replace("{{ answers.intake.age }}", "{{ answers.intake.ag }}");
    let form = told(&form, DEBRIEF);
    assert!(
        form.starts_with("study.yaml:25:") && form.contains("`ag`"),
        "{form}"
    );
    let single = STUDY.replace("{{ answers.intake.age }}", "{age}");
    let single = told(&single, DEBRIEF);
    assert!(
        single.contains("the form has no element `age`; known here: why. For the answer to an earlier form, write `{{ answers.STAGE.age }}`"),
        "{single}"
    );
}

/// The faults of a form with these elements, one per line.
fn form_faults(name: &str, elements: &str) -> String {
    let folder = Folder::new(&format!("braces-{name}"));
    let form = format!("{{\"elements\": [{elements}]}}");
    folder.write("form.json", &form);
    let stage = "  - {id: form, type: survey, surveyjs_file: form.json, time_limit_s: 60}\n";
    let text = folder::STUDY.replace("timeline:\n", &format!("timeline:\n{stage}"));
    folder.write("study.yaml", text);
    let problems = study::load(&folder.path).err().unwrap_or_default();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    told.join("\n")
}

const ASKS: &str = r#"{"type": "text", "name": "age"}, {"type": "matrix", "name": "m", "columns": [1], "rows": ["r"]}"#;

#[test]
fn texts_of_a_form_name_answers_that_were_given_before() {
    let fine = [
        r#"{"type": "comment", "name": "c", "title": "At {age}, {m.r}: {not a name}"}"#,
        r#"{"type": "html", "name": "c", "html": "<b>{age}</b>"}"#,
        r#"{"type": "panel", "name": "p", "title": "{age}", "elements": [{"type": "comment", "name": "c"}]}"#,
        r#"{"type": "radiogroup", "name": "c", "choices": [{"value": 1, "text": "{age}"}]}"#,
    ];
    for (number, element) in fine.iter().enumerate() {
        let told = form_faults(&format!("fine-{number}"), &format!("{ASKS}, {element}"));
        assert_eq!(told, "", "{element}");
    }
    let faults = [
        (
            r#""title": "{agee}""#,
            "the form has no element `agee`; did you mean `age`?",
        ),
        (
            r#""title": "{c}""#,
            "`{c}` is not answered yet where this is read; move `c` up",
        ),
        (r#""title": "{later}""#, "`{later}` is not answered yet"),
        (
            r#""title": {"en": "{m}"}"#,
            "`{m}` is no single answer; name a row or a part of `m` behind a dot",
        ),
        (r#""title": "{m.q}""#, "`{m.q}` is no single answer"),
        (
            r#""requiredErrorText": "{age}""#,
            "`{age}` is not filled in here",
        ),
    ];
    for (number, (text, fault)) in faults.iter().enumerate() {
        let element = format!(
            r#"{{"type": "comment", "name": "c", {text}}}, {{"type": "comment", "name": "later"}}"#
        );
        let told = form_faults(&format!("fault-{number}"), &format!("{ASKS}, {element}"));
        assert!(
            told.starts_with("form.json:1:") && told.contains(fault),
            "{text}: {told}"
        );
    }
}

#[test]
fn a_page_learns_the_time_limit_of_a_form_and_a_short_one_is_told() {
    let folder = Folder::new("form-time");
    let form = "  - {id: quick, type: survey, time_limit_s: 5, surveyjs: {elements: [
      {type: text, name: a}, {type: text, name: b}, {type: text, name: c}, {type: text, name: d}, {type: text, name: e},
      {type: text, name: f}]}}\n";
    let text = folder::STUDY.replace("timeline:\n", &format!("timeline:\n{form}"));
    folder.write("study.yaml", &text);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let view = study.timeline[0].view("en");
    let StageView::Survey { surveyjs } = view else {
        panic!("a form: {view:?}");
    };
    assert!(surveyjs.contains("\"timeLimit\":5"), "{surveyjs}");
    let warnings = study.list_warnings(&Default::default());
    let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(
        told.iter().any(|told| told.contains("6 questions in 5 s")),
        "{told:?}"
    );
    folder.write(
        "study.yaml",
        text.replace("time_limit_s: 5", "time_limit_s: 4"),
    );
    let told = study::load(&folder.path).err().unwrap_or_default();
    assert!(told[0].to_string().contains("from 5 to 86400"), "{told:?}");
}

/// The small study with these sentences of pages.
fn with_sentences(name: &str, file: &str, sentences: &str) -> Result<Study, String> {
    let folder = Folder::new(&format!("sentences-{name}"));
    let text = folder::STUDY.replace("format: 1\n", &format!("format: 1\ntexts: {file}\n"));
    folder.write("study.yaml", text);
    folder.write(file, sentences);
    let told = |problems: Vec<study::Problem>| {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        told.join("\n")
    };
    study::load(&folder.path).map_err(told)
}

#[test]
fn a_study_replaces_sentences_of_pages_and_adds_languages() {
    let study = with_sentences(
        "fr",
        "fr.yaml",
        "next: Suivant\ngo_on_in: 'Encore {left} s.'\n",
    );
    let study = study.expect("a study");
    let sent = serde_json::json!(study.sentences);
    assert_eq!(sent["fr"]["next"], "Suivant");
    let warnings = study.list_warnings(&study::EnvFactsByStage::new());
    let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(
        told.len() == 1 && told[0].contains("sentences of pages are missing in `fr`"),
        "{told:?}"
    );
    let german = "next: Los\ndirect: \"\"\n";
    let german = with_sentences("de", "de.yaml", german).expect("a study");
    assert_eq!(serde_json::json!(german.sentences)["de"]["direct"], "");
    assert_eq!(german.list_warnings(&study::EnvFactsByStage::new()), []);
    assert_ne!(german.hash, study.hash);
}

#[test]
fn the_first_page_has_the_languages_of_the_study_and_misses_no_sentence() {
    let folder = Folder::new("sentences-first");
    let text = folder::STUDY
        .replace("format: 1\n", "format: 1\ntexts: [fr.yaml, en.yaml]\n")
        .replace("title: Small", "title: {fr: Petit, en: Small, it: Piccolo}")
        .replace("language: en", "language: fr\n  languages: [en, fr, it]");
    folder.write("study.yaml", text);
    for page in ["how", "thanks"] {
        for tag in ["en", "it"] {
            folder.write(&format!("{page}.{tag}.md"), "# Page\n");
        }
    }
    let french = include_str!("../../texts/en.yaml").lines();
    let french = french.filter(|line| !line.starts_with("first_status"));
    let french: Vec<&str> = french.collect();
    let french = french.join("\n").replace("Getting ready", "Un instant");
    folder.write("fr.yaml", french);
    folder.write("en.yaml", "first_heading: Hello\nnext: Go\n");
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let first = study.first_sentences();
    let said = |name: &str| {
        first
            .iter()
            .map(|(tag, own)| (tag.as_str(), own[name].as_str()))
            .collect::<Vec<_>>()
    };
    // Pages do not speak Italian: who reads it finds English.
    assert_eq!(
        said("first_heading"),
        [("fr", "Un instant"), ("en", "Hello")]
    );
    let english = said("first_status")[1].1;
    assert_eq!(said("first_status"), [("fr", english), ("en", english)]);
    assert!(
        first
            .iter()
            .all(|(_, own)| own.keys().all(|name| name.starts_with("first_")))
    );
    let warnings = study.list_warnings(&study::EnvFactsByStage::new());
    let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(
        told[0].contains("texts: 1 of") && told[0].ends_with("in English: `first_status`"),
        "{told:?}"
    );
}

#[test]
fn every_fault_of_a_sentence_is_told() {
    let told =
        |name: &str, file: &str, text: &str| with_sentences(name, file, text).expect_err("a fault");
    let unknown = told("unknown", "fr.yaml", "nexd: Suivant\n");
    assert!(
        unknown.contains("fr.yaml:1:7: nexd: pages have no sentence `nexd`; did you mean `next`?"),
        "{unknown}"
    );
    let place = told("place", "fr.yaml", "next: '{left}'\n");
    assert!(
        place.contains("nothing is filled in for `{left}` here"),
        "{place}"
    );
    let lost = told("lost", "fr.yaml", "go_on_in: Attendez\n");
    assert!(
        lost.contains("`{left}` is missing; in English: `You can continue in {left} s.`"),
        "{lost}"
    );
    let name = told(
        "name",
        "francais-de-france-et-ailleurs.yaml",
        "next: Suivant\n",
    );
    assert!(name.contains("does not say its language"), "{name}");
}

#[test]
fn a_language_in_which_pages_have_no_words_is_told() {
    let folder = Folder::new("sentences-none");
    folder.write(
        "study.yaml",
        folder::STUDY.replace("language: en", "language: fr"),
    );
    let study = study::load(&folder.path).expect("a study");
    let warnings = study.list_warnings(&study::EnvFactsByStage::new());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].message.contains("write them in `fr.yaml`"),
        "{warnings:?}"
    );
}

const ASKED: &str = "format: 1
study: {id: labels, version: 1.0.0, title: Labels, contact: lab@example.edu, language: en, languages: [en, de]}
timeline:
  - id: ask
    type: survey
    surveyjs:
      elements:
        - {type: radiogroup, name: job, showOtherItem: true, showNoneItem: true, choices: [{value: c, text: {en: Cook, de: Koch}}]}
        - {type: rating, name: sure, rateValues: [{value: 1, text: {en: A bit, de: Etwas}}, {value: 2, text: {en: Very, de: Sehr}}]}
        - {type: boolean, name: again, labelTrue: {en: Gladly, de: Gern}}
        - {type: boolean, name: plain}
        - {type: text, name: length, inputType: number, step: 0.5}
        - type: matrix
          name: trust
          columns: [{value: 1, text: {en: Never, de: Nie}}, {value: 2, text: {en: Always, de: Immer}}]
          rows: [fluent, kind]
  - {id: how, type: instructions, pages: [how.md]}
  - {id: thanks, type: end, file: thanks.md}
";

#[test]
fn an_answer_is_shown_by_its_label_in_the_language_of_the_reader() {
    let folder = Folder::new("texts-labels");
    folder.write("study.yaml", ASKED);
    let page = "{{ answers.ask.job }}; {{ answers.ask.sure }}; {{ answers.ask.again }}; {{ answers.ask.plain }}; \
                {{ answers.ask.length }}; {{ answers.ask.trust.kind }}; {{ answers.ask.trust.fluent }}.";
    for language in ["", ".de"] {
        folder.write(&format!("how{language}.md"), page);
        folder.write(&format!("thanks{language}.md"), "# Thanks\n");
    }
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let shown = |language: &str, job: &[Answer]| {
        let mut at = Progress::new(&study, UnitAssignment::default());
        at.choose_language(&study, Some(&language.to_owned()), &[]);
        let rest = [
            answer("sure", "2"),
            answer("again", "true"),
            answer("plain", "false"),
            answer("length", "1.5"),
            answer("trust", "{\"kind\":2}"),
        ];
        let answers = &[job, &rest].concat()[..];
        at.handle(&study, ProgressEvent::StageDone { at: 0, answers })
            .expect("a step");
        match at.view(&study) {
            StageView::Instructions { pages, .. } => pages.concat(),
            other => panic!("a page: {other:?}"),
        }
    };
    let cook = [answer("job", "\"c\"")];
    let page = shown("en", &cook);
    assert!(
        page.contains("Cook; Very; Gladly; No; 1.5; Always; –."),
        "{page}"
    );
    let page = shown("de", &cook);
    assert!(
        page.contains("Koch; Sehr; Gern; Nein; 1,5; Immer; –."),
        "{page}"
    );
    let none = shown("de", &[answer("job", "\"none\"")]);
    assert!(none.contains("Nichts davon; "), "{none}");
    let other = [
        answer("job", "\"other\""),
        answer("job-Comment", "\"Baker\""),
    ];
    let other = shown("de", &other);
    assert!(other.contains("Baker; "), "{other}");
}

/// The page of somebody whose way through the study ended like this.
fn end_page(study: &Study, language: &str, outcome: Outcome) -> String {
    let mut at = Progress::new(study, UnitAssignment::default());
    at.choose_language(study, Some(&language.to_owned()), &[]);
    at.handle(study, ProgressEvent::Cut(outcome))
        .expect("a step");
    match at.view(study) {
        StageView::End { page, .. } => page,
        other => panic!("a last page: {other:?}"),
    }
}

#[test]
fn last_pages_of_the_program_are_in_the_language_that_a_study_adds() {
    let folder = Folder::new("sentences-end");
    let text = folder::STUDY
        .replace("format: 1\n", "format: 1\ntexts: [fr.yaml, en.yaml]\n")
        .replace("title: Small", "title: {en: Small, de: Klein, fr: Petit}");
    let (start, _) = text.split_once("  - id: thanks\n").expect("an end stage");
    folder.write("study.yaml", start);
    for tag in ["de", "fr"] {
        folder.write(&format!("how.{tag}.md"), "# How\n");
    }
    folder.write(
        "fr.yaml",
        "end_completed_heading: Merci\nend_completed_text: C'est fini.\nend_study_full_heading: Complet\n\
         end_study_full_text: Revenez.\nend_close: Vous pouvez fermer cette page.\nend_left_early_text: ''\n",
    );
    folder.write("en.yaml", "end_timed_out_text: Too late.\n");
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    for (language, outcome, page) in [
        (
            "fr",
            Outcome::Completed,
            "<h1>Merci</h1>\n<p>C'est fini.</p>\n",
        ),
        (
            "fr",
            Outcome::StudyFull,
            "<h1>Complet</h1>\n<p>Revenez. Vous pouvez fermer cette page.</p>\n",
        ),
        // An empty sentence is left out, and one that is missing is in English.
        (
            "fr",
            Outcome::LeftEarly,
            "<h1>You have left the study</h1>\n<p>Vous pouvez fermer cette page.</p>\n",
        ),
        (
            "en",
            Outcome::TimedOut,
            "<h1>Time is up</h1>\n<p>Too late. You can close this page now.</p>\n",
        ),
        (
            "de",
            Outcome::TimedOut,
            "<h1>Die Zeit ist um</h1>\n<p>Diese Studie musste in einer bestimmten Zeit beendet werden, und die ist vorbei. \
             Sie können diese Seite jetzt schließen.</p>\n",
        ),
        (
            "de",
            Outcome::Completed,
            "<h1>Vielen Dank für Ihre Zeit</h1>\n<p>Sie sind am Ende der Studie.</p>\n",
        ),
    ] {
        assert_eq!(end_page(&study, language, outcome), page, "{language}");
    }
    let warnings = study.list_warnings(&study::EnvFactsByStage::new());
    let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(
        told.iter().any(|told| told.contains("are missing in `fr`")),
        "{told:?}"
    );
}

#[test]
fn both_languages_of_the_program_have_every_sentence() {
    let names = |file: &'static str| {
        let lines = file.lines().filter(|line| !line.starts_with('#'));
        let names = lines.filter_map(|line| Some(line.split_once(": ")?.0));
        names.collect::<Vec<_>>()
    };
    let english = names(include_str!("../../texts/en.yaml"));
    assert!(english.contains(&"end_close"), "{english:?}");
    assert_eq!(english, names(include_str!("../../texts/de.yaml")));
}
