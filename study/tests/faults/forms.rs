//! Faults of forms, and of the files that they name.

use super::{fault, faults, swap, warnings};
use crate::folder::{Folder, STUDY};

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
        element("{type: text, name: s, inputType: range, min: 5, max: 6, step: 2}"),
        "study.yaml:41:67: timeline[3].surveyjs.elements[2].step: from 5 to 6 by 2 is 0 steps; there must be 1 to 10000"
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
    let study::StageKind::Survey(survey) = &study.timeline[3].kind else {
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
