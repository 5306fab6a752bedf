//! Stages, and their checks of answers.

use protocol::control::{Answer, StageView};
use study::assign::UnitAssignment;
use study::stage::AGREED;
use study::{EventRefusal, Outcome, Progress, ProgressEvent, ProgressStep, StageKind, Study};

use crate::folder::{Folder, STUDY};

const GATED: &str = "format: 1
study: {id: gated, version: 1.0.0, title: {en: Gated, de: Bedingt}, contact: lab@example.edu}
timeline:
  - {id: consent, type: consent, file: consent.md}
  - {id: how, type: instructions, pages: [how.md]}
  - id: quiz
    type: quiz
    attempts: 2
    retry_from: how
    items:
      - {name: soup, ask: {en: How many?, de: Wie viele?}, choices: [1, 2, 3], answer: 3}
      - {name: score, ask: Whose?, choices: [mine, {value: ours, text: {en: Ours, de: Unsere}}], answer: ours}
  - {id: after, type: debrief, file: how.md}
  - {id: thanks, type: end, file: thanks.md}
";

/// A folder with the texts of the study.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("consent.md", "# Consent\n");
    folder.write("consent.de.md", "# Einwilligung\n");
    folder.write("study.yaml", GATED);
    folder
}

fn load(folder: &Folder) -> Study {
    study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn gated(name: &str) -> (Study, Progress) {
    let study = load(&folder(name));
    let at = Progress::new(&study, UnitAssignment::default());
    (study, at)
}

fn answer(name: &str, value: &str) -> Answer {
    Answer {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// Says that the current stage is done, with answers.
fn done(
    study: &Study,
    at: &mut Progress,
    answers: &[Answer],
) -> Result<ProgressStep, EventRefusal> {
    let event = ProgressEvent::StageDone {
        at: at.position(),
        answers,
    };
    at.handle(study, event)
}

/// The answer of a person who agrees to the text shown.
fn agreement(study: &Study, at: &Progress) -> Answer {
    let StageView::Consent { sha256, .. } = at.view(study) else {
        panic!("not a consent")
    };
    answer(AGREED, &format!("\"{sha256}\""))
}

#[test]
fn who_agrees_to_the_text_shown_goes_on() {
    let (study, mut at) = gated("agrees");
    let agreed = agreement(&study, &at);
    assert_eq!(done(&study, &mut at, &[agreed]), Ok(ProgressStep::Enter(1)));
    assert_eq!(at.outcome(&study), None);
}

#[test]
fn who_does_not_agree_leaves_by_the_outcome_of_the_stage_and_leaves_nothing() {
    let (study, mut at) = gated("disagrees");
    assert_eq!(done(&study, &mut at, &[]), Ok(ProgressStep::Enter(4)));
    assert_eq!(at.outcome(&study), Some(Outcome::NoConsent));
    assert!(at.facts().answers.is_empty());
    let StageView::End { outcome, page, .. } = at.view(&study) else {
        panic!("not the end")
    };
    assert_eq!(outcome, "no_consent");
    assert!(page.contains("You chose not to take part"), "{page}");
}

#[test]
fn an_agreement_to_another_text_is_refused() {
    let (study, mut at) = gated("another-text");
    let other = answer(AGREED, &format!("\"{}\"", "0".repeat(64)));
    let bad = Err(EventRefusal::BadAnswer {
        name: AGREED.to_owned(),
    });
    assert_eq!(done(&study, &mut at, &[other]), bad);
    let unknown = Err(EventRefusal::UnknownItem {
        name: "fun".to_owned(),
    });
    assert_eq!(done(&study, &mut at, &[answer("fun", "1")]), unknown);
    let own = agreement(&study, &at);
    let twice = Err(EventRefusal::Twice {
        name: AGREED.to_owned(),
    });
    assert_eq!(done(&study, &mut at, &[own.clone(), own]), twice);
    assert_eq!(at.position(), 0);
}

#[test]
fn every_language_of_a_text_has_its_own_hash_and_both_can_be_agreed_to() {
    let (study, mut at) = gated("languages");
    let text = |language: &str| match study.timeline[0].view(language) {
        StageView::Consent { page, sha256 } => (page, sha256),
        other => panic!("{other:?}"),
    };
    let (english, german) = (text("en"), text("de"));
    assert_eq!(
        (english.0.as_str(), german.0.as_str()),
        ("<h1>Consent</h1>\n", "<h1>Einwilligung</h1>\n")
    );
    assert_ne!(english.1, german.1);
    assert_eq!(text("fr"), english);
    let agreed = answer(AGREED, &format!("\"{}\"", german.1));
    assert_eq!(done(&study, &mut at, &[agreed]), Ok(ProgressStep::Enter(1)));
}

/// The study with more of its pages in German.
fn spoken(name: &str, pages: &[&str]) -> Study {
    let folder = folder(name);
    for page in pages {
        folder.write(page, "# Hallo\n");
    }
    load(&folder)
}

#[test]
fn people_can_choose_the_languages_in_which_the_title_and_every_page_are_there() {
    assert_eq!(spoken("some-pages", &["how.de.md"]).languages, [""; 0]);
    let pages = ["how.de.md", "thanks.de.md", "how.fr.md"];
    assert_eq!(spoken("all-pages", &pages).languages, ["de", "en"]);
}

#[test]
fn a_participant_reads_the_study_in_the_language_that_they_ask_for_or_their_browser_does() {
    let reads = |tags: &[&str]| tags.iter().map(ToString::to_string).collect::<Vec<_>>();
    let study = spoken("spoken", &["how.de.md", "thanks.de.md"]);
    let mut at = Progress::new(&study, UnitAssignment::default());
    assert_eq!((at.language(&study), at.chosen_language()), ("en", None));
    assert!(at.choose_language(&study, None, &reads(&["fr", "de-AT", "en"])));
    assert_eq!(at.chosen_language(), Some("de"));
    // Another browser changes nothing; another wish does, unless the study has no such language.
    assert!(!at.choose_language(&study, None, &reads(&["en"])));
    assert!(!at.choose_language(&study, Some(&"fr".to_owned()), &reads(&["en"])));
    assert_eq!(at.language(&study), "de");
    let StageView::Consent { page, .. } = at.view(&study) else {
        panic!("not a consent")
    };
    assert_eq!(page, "<h1>Einwilligung</h1>\n");
    assert!(at.choose_language(&study, Some(&"EN".to_owned()), &[]));
    assert_eq!(at.language(&study), "en");
}

#[test]
fn a_text_in_another_language_is_part_of_the_hash_of_the_study() {
    let folder = folder("language-hash");
    let before = load(&folder).hash;
    folder.write("consent.de.md", "# Einverstanden?\n");
    assert_ne!(load(&folder).hash, before);
}

/// A participant at the quiz.
fn at_the_quiz(name: &str) -> (Study, Progress) {
    let (study, mut at) = gated(name);
    let agreed = agreement(&study, &at);
    done(&study, &mut at, &[agreed]).expect("agreed");
    assert_eq!(done(&study, &mut at, &[]), Ok(ProgressStep::Enter(2)));
    (study, at)
}

fn attempt(study: &Study, at: &Progress) -> (u8, u8) {
    match at.view(study) {
        StageView::Quiz {
            attempt, attempts, ..
        } => (attempt, attempts),
        other => panic!("{other:?}"),
    }
}

#[test]
fn right_answers_lead_on() {
    let (study, mut at) = at_the_quiz("right");
    let right = [answer("soup", "3"), answer("score", "\"ours\"")];
    assert_eq!(done(&study, &mut at, &right), Ok(ProgressStep::Enter(3)));
    assert_eq!(at.outcome(&study), None);
}

#[test]
fn a_wrong_answer_leads_back_to_the_instructions_and_the_last_one_out() {
    let (study, mut at) = at_the_quiz("wrong");
    let wrong = [answer("soup", "3"), answer("score", "\"mine\"")];
    assert_eq!(attempt(&study, &at), (1, 2));
    assert_eq!(done(&study, &mut at, &wrong), Ok(ProgressStep::Enter(1)));
    assert_eq!(done(&study, &mut at, &[]), Ok(ProgressStep::Enter(2)));
    assert_eq!(attempt(&study, &at), (2, 2));
    let stored = serde_json::to_string(&at).expect("JSON");
    let mut restored: Progress = serde_json::from_str(&stored).expect("the same");
    assert_eq!(
        attempt(&study, &restored),
        (2, 2),
        "attempts outlive a restart"
    );
    assert_eq!(
        done(&study, &mut restored, &wrong),
        Ok(ProgressStep::Enter(4))
    );
    assert_eq!(restored.outcome(&study), Some(Outcome::FailedQuiz));
    let right = [answer("soup", "3"), answer("score", "\"ours\"")];
    assert_eq!(done(&study, &mut at, &right), Ok(ProgressStep::Enter(3)));
}

#[test]
fn a_quiz_takes_an_answer_to_every_question_and_only_its_choices() {
    let (study, mut at) = at_the_quiz("incomplete");
    let missing = Err(EventRefusal::Missing {
        name: "score".to_owned(),
    });
    assert_eq!(done(&study, &mut at, &[answer("soup", "3")]), missing);
    let bad = Err(EventRefusal::BadAnswer {
        name: "soup".to_owned(),
    });
    let beyond = [answer("soup", "4"), answer("score", "\"ours\"")];
    assert_eq!(done(&study, &mut at, &beyond), bad);
    assert_eq!(attempt(&study, &at), (1, 2), "no attempt was taken");
}

#[test]
fn pages_get_questions_in_their_language_and_no_right_answers() {
    let (study, _) = gated("quiz-language");
    let shown = |language: &str| match study.timeline[2].view(language) {
        StageView::Quiz { surveyjs, .. } => surveyjs,
        other => panic!("{other:?}"),
    };
    let german = shown("de");
    assert!(
        german.contains("Wie viele?") && german.contains("Unsere") && german.contains("Whose?"),
        "{german}"
    );
    assert!(shown("en").contains("How many?"));
    assert!(!german.to_lowercase().contains("answer"), "{german}");
}

#[test]
fn forms_show_no_right_answers_and_take_every_row_that_must_be() {
    let folder = Folder::new("rows");
    let form = "          name: fun
          correctAnswer: 3
";
    let matrix = "        - {type: matrix, name: trust, isAllRowRequired: true, columns: [1, 2], rows: [fluent, {value: trusted, text: I trusted}]}
        - type: radiogroup";
    let text = STUDY
        .replace("          name: fun\n", form)
        .replace("        - type: radiogroup", matrix);
    folder.write("study.yaml", text);
    let study = load(&folder);
    let StageKind::Survey(survey) = &study.timeline[3].kind else {
        panic!("not a survey")
    };
    let shown = survey.in_language("en").to_string();
    assert!(
        !shown.contains("correctAnswer") && shown.contains("isAllRowRequired"),
        "{shown}"
    );
    let fun = answer("fun", "3");
    let missing = Err(EventRefusal::Missing {
        name: "trust".to_owned(),
    });
    assert_eq!(survey.check(std::slice::from_ref(&fun)), missing);
    assert_eq!(
        survey.check(&[fun.clone(), answer("trust", r#"{"fluent": 1}"#)]),
        missing
    );
    assert_eq!(
        survey.check(&[fun, answer("trust", r#"{"fluent": 1, "trusted": 2}"#)]),
        Ok(())
    );
}

#[test]
fn items_with_a_right_answer_are_marked_and_those_of_attention_are_flagged() {
    let text = r#"{"elements": [
        {"type": "radiogroup", "name": "imc1", "choices": ["a", "b"], "correctAnswer": "b"},
        {"type": "rating", "name": "imc2", "rateMax": 7, "correctAnswer": 5},
        {"type": "rating", "name": "known", "rateMax": 7, "correctAnswer": 1},
        {"type": "rating", "name": "fun", "rateMax": 7}
    ]}"#;
    let folder = Folder::new("marks");
    folder.write("post.json", text);
    let survey = "type: survey\n    surveyjs_file: post.json\n    attention: {items: [imc1, imc2], use: flag}\n";
    let whole = format!(
        "format: 1\nstudy: {{id: marks, version: 1.0.0, title: Marks, contact: lab@example.edu}}\n\
         timeline:\n  - id: post\n    {survey}  - {{id: thanks, type: end, file: thanks.md}}\n"
    );
    folder.write("study.yaml", &whole);
    let study = study::load(&folder.path).expect("a good study");
    let marks = |pairs: &[(&str, &str)]| {
        let given: Vec<Answer> = (pairs.iter())
            .map(|(name, value)| Answer {
                name: (*name).into(),
                value: (*value).into(),
            })
            .collect();
        let marks = study.timeline[0].kind.mark_answers(&given);
        let mark = |mark: study::survey::Mark| (mark.item, mark.correct, mark.flag);
        marks.into_iter().map(mark).collect::<Vec<_>>()
    };
    let row = |item: &str, correct, flag| (item.to_owned(), correct, flag);
    assert_eq!(
        marks(&[
            ("imc1", "\"b\""),
            ("imc2", "4"),
            ("known", "2"),
            ("fun", "3")
        ]),
        [
            row("imc1", true, false),
            row("imc2", false, true),
            row("known", false, false)
        ]
    );
    // What is left out was not read.
    assert_eq!(
        marks(&[]),
        [row("imc1", false, true), row("imc2", false, true)]
    );
}

#[test]
fn a_form_is_checked_as_its_page_checks_it() {
    let text = r#"{"elements": [
        {"type": "boolean", "name": "played"},
        {"type": "rating", "name": "fun", "visibleIf": "{played} = true", "isRequired": true, "correctAnswer": 5},
        {"type": "text", "name": "age", "inputType": "number", "min": 18, "minErrorText": {"en": "Adults only.", "de": "Nur Erwachsene."}}
    ]}"#;
    let folder = Folder::new("branches");
    folder.write("post.json", text);
    let whole = "format: 1\nstudy: {id: branches, version: 1.0.0, title: Branches, contact: lab@example.edu}\n\
                 timeline:\n  - {id: post, type: survey, surveyjs_file: post.json, attention: {items: [fun]}}\n";
    folder.write("study.yaml", whole);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let StageKind::Survey(survey) = &study.timeline[0].kind else {
        panic!("not a survey")
    };
    let given = |pairs: &[(&str, &str)]| -> Vec<Answer> {
        pairs
            .iter()
            .map(|(name, value)| answer(name, value))
            .collect()
    };
    let name = || "fun".to_owned();
    assert_eq!(survey.check(&given(&[])), Ok(()));
    assert_eq!(
        survey.check(&given(&[("fun", "5")])),
        Err(EventRefusal::Hidden { name: name() })
    );
    assert_eq!(
        survey.check(&given(&[("played", "true")])),
        Err(EventRefusal::Missing { name: name() })
    );
    assert_eq!(
        survey.check(&given(&[("played", "true"), ("fun", "5"), ("age", "18")])),
        Ok(())
    );
    let refused = survey.check(&given(&[("age", "17")]));
    assert!(
        matches!(&refused, Err(EventRefusal::Unfit { name, why }) if name == "age" && why == "Adults only."),
        "{refused:?}"
    );
    assert_eq!(
        survey.mark_answers(&[]),
        [],
        "what was not shown was not missed"
    );
    assert!(
        survey
            .in_language("de")
            .to_string()
            .contains("Nur Erwachsene.")
    );
}

#[test]
fn choices_that_are_drawn_are_the_same_for_a_person_and_others_for_others() {
    let text = r#"{"elements": [
        {"type": "radiogroup", "name": "a", "choices": [1, 2, 3, 4, 5, 6, 7, 8], "choicesOrder": "random"},
        {"type": "checkbox", "name": "b", "choices": [1, 2, 3, 4, 5, 6, 7, 8], "choicesOrder": "random", "hasOther": true},
        {"type": "matrix", "name": "c", "columns": [1, 2], "rows": ["p", "q", "r", "s"], "rowOrder": "random"},
        {"type": "dropdown", "name": "d", "choices": ["Z", {"value": 1, "text": "a"}, "m"], "choicesOrder": "asc"}
    ]}"#;
    let folder = Folder::new("orders");
    folder.write("post.json", text);
    let whole = "format: 1\nstudy: {id: orders, version: 1.0.0, title: Orders, contact: lab@example.edu}\n\
                 timeline:\n  - {id: post, type: survey, surveyjs_file: post.json}\n";
    folder.write("study.yaml", whole);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let StageKind::Survey(survey) = &study.timeline[0].kind else {
        panic!("not a survey")
    };
    let order = |seed, at: usize, list: &str| {
        survey.arrange_form("en", seed, 0).0["elements"][at][list].to_string()
    };
    assert_eq!(order(1, 0, "choices"), order(1, 0, "choices"));
    assert_ne!(
        order(1, 0, "choices"),
        order(1, 1, "choices"),
        "each list is drawn by itself"
    );
    let (document, drawn) = survey.arrange_form("en", 42, 0);
    let shown: Vec<(&str, &str)> = drawn
        .iter()
        .map(|shown| (shown.item.as_str(), shown.order.as_str()))
        .collect();
    assert_eq!(shown[0], ("a", "[7,4,6,8,3,5,1,2]"));
    assert_eq!(
        shown[2],
        ("c", document["elements"][2]["rows"].to_string().as_str())
    );
    assert_eq!(shown.len(), 3, "what is sorted was not drawn");
    let orders: std::collections::BTreeSet<String> =
        (0..200).map(|seed| order(seed, 2, "rows")).collect();
    assert_eq!(orders.len(), 24, "every order occurs");
    assert_eq!(
        order(7, 3, "choices"),
        r#"[{"text":"a","value":1},"m","Z"]"#
    );
    // The draw never changes with the version.
    assert_eq!(order(42, 0, "choices"), "[7,4,6,8,3,5,1,2]");
    let wide = vec![
        answer("b", "[8,\"other\"]"),
        answer("b-Comment", "\"a whisk\""),
    ];
    assert_eq!(survey.check(&wide), Ok(()));
}

/// A study of a form with one element, in English and German.
fn asking(name: &str, element: &str) -> Study {
    let folder = Folder::new(name);
    folder.write("thanks.de.md", "# Danke\n");
    let head = "format: 1\nstudy: {id: f, version: 1.0.0, title: F, contact: lab@example.edu, language: en, languages: [en, de]}\n";
    let ask = format!(
        "  - id: ask\n    type: survey\n    surveyjs:\n      elements:\n        - {element}\n"
    );
    let end = "  - {id: thanks, type: end, file: thanks.md}\n";
    folder.write("study.yaml", format!("{head}timeline:\n{ask}{end}"));
    study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

#[test]
fn a_form_is_in_the_language_that_the_participant_reads() {
    let study = asking(
        "form-language",
        "{type: comment, name: why, title: {default: Why?, de: Warum?}}",
    );
    let mut at = Progress::new(&study, UnitAssignment::default());
    let title = |at: &Progress| match at.view(&study) {
        StageView::Survey { surveyjs } => {
            let form: serde_json::Value = serde_json::from_str(&surveyjs).expect("a form");
            form["elements"][0]["title"].clone()
        }
        view => panic!("not a survey: {view:?}"),
    };
    assert_eq!(title(&at), "Why?");
    assert!(at.choose_language(&study, Some(&"de".to_owned()), &[]));
    assert_eq!(title(&at), "Warum?");
}

#[test]
fn the_order_that_is_told_is_the_one_that_is_shown() {
    let study = asking(
        "form-order",
        "{type: ranking, name: order, choices: [a, b, c, d, e], choicesOrder: random}",
    );
    let at = Progress::new(&study, UnitAssignment::default());
    let StageView::Survey { surveyjs } = at.view(&study) else {
        panic!("not a survey")
    };
    let form: serde_json::Value = serde_json::from_str(&surveyjs).expect("a form");
    let seen = form["elements"][0]["choices"].to_string();
    let [shown] = &at.shown_orders(&study)[..] else {
        panic!("one order was drawn")
    };
    assert_eq!(
        (shown.item.as_str(), shown.order.as_str()),
        ("order", seen.as_str())
    );
    assert_ne!(seen, r#"["a","b","c","d","e"]"#);
}
