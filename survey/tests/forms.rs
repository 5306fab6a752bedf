//! Forms as they are read, shown and judged.

use serde_json::{Value, json};
use survey::{
    AnswerProblem, AnswerWords, Form, FormPage, ItemChoice, ItemKind, Values, names_in_braces,
};

fn form() -> Form {
    let json = r#"{ "title": "After the game", "pages": [
      { "elements": [
        { "type": "rating", "name": "fun", "title": "How much fun?", "isRequired": true, "rateMax": 7 },
        { "type": "panel", "elements": [
          { "type": "radiogroup", "name": "who", "choices": ["person", { "value": 2, "text": "machine" }] } ] },
        { "type": "html", "name": "note", "html": "<p>Thanks</p>" } ] },
      { "elements": [] },
      { "elements": [
        { "type": "text", "name": "age", "inputType": "number" },
        { "type": "signaturepad", "name": "odd" },
        { "type": "matrix", "name": "m", "isRequired": true, "columns": [1, 2], "rows": ["a", "b"] } ] } ] }"#;
    Form::read(json).expect("a form")
}

fn values(of: Value) -> Values {
    serde_json::from_value(of).expect("answers")
}

/// A form of one page.
fn asks(elements: Value) -> Form {
    Form::of(&json!({ "elements": elements }))
}

/// The problems of answers to a form of one page.
fn wrong(form: &Form, answers: Value) -> Vec<(usize, String)> {
    let problems = form.list_problems(&values(answers)).remove(0);
    problems
        .into_iter()
        .map(|(item, problem)| (item, problem.to_string()))
        .collect()
}

/// Names of the shown items.
fn shown(form: &Form, answers: Value) -> Vec<String> {
    let (shown, _) = form.shown_items(&values(answers));
    let items = form.items().zip(shown.into_iter().flatten());
    items
        .filter(|(_, shown)| *shown)
        .map(|(item, _)| item.name.clone())
        .collect()
}

#[test]
fn pages_panels_and_choices_are_read() {
    let form = form();
    assert_eq!(
        (form.title.as_str(), form.pages.len()),
        ("After the game", 2)
    );
    let names: Vec<_> = form.pages[0]
        .items
        .iter()
        .map(|item| item.name.as_str())
        .collect();
    assert_eq!(names, ["fun", "who", "note"]);
    let ItemKind::Rating { points, .. } = &form.pages[0].items[0].kind else {
        panic!("not a rating")
    };
    assert_eq!((points.len(), &points[6].value), (7, &json!(7)));
    let ItemKind::One(choices) = &form.pages[0].items[1].kind else {
        panic!("not a choice")
    };
    let (value, text) = (json!(2), "machine".to_owned());
    let picture = None;
    let machine = ItemChoice {
        value,
        text,
        picture,
    };
    assert_eq!(choices[1], machine);
}

#[test]
fn the_usual_words_are_left_to_the_page() {
    let form = asks(json!([
        { "type": "boolean", "name": "b", "labelFalse": "Never" },
        { "type": "dropdown", "name": "d", "hasNone": true, "noneText": "Nothing", "hasOther": true },
    ]));
    let items = &form.pages[0].items;
    let (yes, no) = (String::new(), "Never".to_owned());
    assert_eq!(items[0].kind, ItemKind::Boolean { yes, no });
    let ItemKind::List(choices) = &items[1].kind else {
        panic!("not a list")
    };
    let texts: Vec<&str> = choices.iter().map(|choice| choice.text.as_str()).collect();
    assert_eq!(texts, ["Nothing", ""]);
    assert_eq!(items[2].title, "");
}

#[test]
fn an_unknown_kind_is_a_line_of_text() {
    let input = "text".to_owned();
    assert_eq!(form().pages[1].items[1].kind, ItemKind::Line { input });
}

#[test]
fn what_is_required_keeps_the_person_here() {
    let form = form();
    let mut answers = Values::new();
    assert_eq!(
        form.list_problems(&answers)[0],
        [(0, AnswerProblem::Unanswered)]
    );
    answers.insert("fun".to_owned(), json!(3));
    assert_eq!(form.list_problems(&answers)[0], []);
    assert_eq!(
        form.list_problems(&answers)[1],
        [(2, AnswerProblem::UnansweredRow)]
    );
    answers.insert("m".to_owned(), json!({ "a": 1, "b": 2 }));
    answers.insert("age".to_owned(), json!("old"));
    assert_eq!(
        form.list_problems(&answers)[1],
        [(0, AnswerProblem::NotANumber)]
    );
}

#[test]
fn typed_numbers_are_numbers_and_blanks_are_nothing() {
    let form = form();
    let [age, odd] = [&form.pages[1].items[0], &form.pages[1].items[1]];
    assert_eq!(age.value_of(" 30 "), Some(json!(30)));
    assert_eq!(age.value_of("1.5"), Some(json!(1.5)));
    assert_eq!(age.value_of("old"), Some(json!("old")));
    assert_eq!(odd.value_of("30"), Some(json!("30")));
    assert_eq!(odd.value_of("  "), None);
}

#[test]
fn items_without_pages_and_malformed_json() {
    let form = Form::read(r#"{ "title": "T", "elements": [{ "type": "comment", "name": "c" }] }"#)
        .unwrap();
    assert_eq!(
        (form.title.as_str(), form.pages[0].title.as_str()),
        ("T", "")
    );
    assert_eq!(form.pages[0].items[0].kind, ItemKind::Lines);
    assert!(Form::read("{").is_err());
    assert_eq!(Form::read("[]").unwrap().pages, [FormPage::default()]);
}

#[test]
fn what_is_shown_follows_from_what_is_shown_before_it() {
    let form = asks(json!([
        { "type": "boolean", "name": "played" },
        { "type": "panel", "name": "p", "title": "Games", "visibleIf": "{played} = true", "elements": [
            { "type": "checkbox", "name": "which", "choices": ["chess", "go"], "isRequired": true },
            { "type": "comment", "name": "why", "visibleIf": "{which} contains 'go'", "isRequired": true } ] },
        { "type": "comment", "name": "other", "visibleIf": "{why} notempty" },
    ]));
    assert_eq!(shown(&form, json!({})), ["played"]);
    assert_eq!(
        shown(&form, json!({ "played": true })),
        ["played", "", "which"]
    );
    let all = json!({ "played": true, "which": ["go"], "why": "deep", "other": "x" });
    assert_eq!(
        shown(&form, all.clone()),
        ["played", "", "which", "why", "other"]
    );
    let mut hidden = all;
    hidden["played"] = json!(false);
    assert_eq!(
        shown(&form, hidden.clone()),
        ["played"],
        "what is hidden counts as not answered"
    );
    assert_eq!(
        form.shown_items(&values(hidden.clone())).1,
        values(json!({ "played": false }))
    );
    assert_eq!(wrong(&form, hidden), [], "and nothing of it is missing");
    assert_eq!(
        wrong(&form, json!({ "played": true })),
        [(2, "Please answer this question.".to_owned())]
    );
}

#[test]
fn an_answer_can_be_needed_or_locked_by_others() {
    let form = asks(json!([
        { "type": "boolean", "name": "owns" },
        { "type": "text", "name": "name", "requiredIf": "{owns} = true", "requiredErrorText": "Its name, please." },
        { "type": "text", "name": "age", "isRequired": true, "enableIf": "{owns} = true" },
    ]));
    assert_eq!(wrong(&form, json!({})), []);
    assert_eq!(
        wrong(&form, json!({ "owns": true })),
        [
            (1, "Its name, please.".to_owned()),
            (2, "Please answer this question.".to_owned())
        ]
    );
}

#[test]
fn validators_say_what_is_wrong_in_their_words_or_the_usual_ones() {
    let form = asks(json!([
        { "type": "text", "name": "age", "inputType": "number", "min": 18, "max": 99 },
        { "type": "text", "name": "year", "validators": [{ "type": "numeric", "minValue": 1900 }] },
        { "type": "text", "name": "code", "validators": [{ "type": "regex", "regex": "^[A-Z]{2}\\d+$", "text": "Two letters and a number." }] },
        { "type": "text", "name": "mail", "validators": [{ "type": "email" }] },
        { "type": "comment", "name": "why", "maxLength": 10, "validators": [{ "type": "text", "minLength": 3, "allowDigits": false }] },
        { "type": "checkbox", "name": "two", "choices": [1, 2, 3], "validators": [{ "type": "answercount", "minCount": 2, "maxCount": 2 }] },
        { "type": "text", "name": "day", "inputType": "date", "min": "2020-01-01", "max": "2020-12-31" },
        { "type": "text", "name": "again", "validators": [{ "type": "expression", "expression": "{again} = {code}", "text": "Not the same." }] },
    ]));
    let fine = json!({ "age": 18, "year": "1900", "code": "AB1", "mail": "a@b.org", "why": "yes yes", "two": [1, 3],
                       "day": "2020-02-03", "again": "AB1" });
    assert_eq!(wrong(&form, fine.clone()), []);
    let mut oldest = fine.clone();
    oldest["age"] = json!(99);
    assert_eq!(wrong(&form, oldest), [], "a bound is within");
    assert_eq!(wrong(&form, json!({})), [], "nothing is required");
    for (name, value, index, said) in [
        ("age", json!(17), 0, "Please enter a number of 18 or more."),
        ("age", json!(100), 0, "Please enter a number of 99 or less."),
        ("age", json!("x"), 0, "Please enter a number."),
        ("year", json!("nineteen"), 1, "Please enter a number."),
        (
            "year",
            json!("1899.5"),
            1,
            "Please enter a number of 1900 or more.",
        ),
        ("code", json!("AB"), 2, "Two letters and a number."),
        ("mail", json!("a@b"), 3, "Please enter an e-mail address."),
        (
            "mail",
            json!("a b@c.org"),
            3,
            "Please enter an e-mail address.",
        ),
        ("why", json!("no"), 4, "Please write at least 3 characters."),
        (
            "why",
            json!("far too long"),
            4,
            "Please write 10 characters at most.",
        ),
        ("why", json!("abc1"), 4, "Please leave out the digits."),
        ("two", json!([1]), 5, "Please choose at least 2."),
        ("two", json!([1, 2, 3]), 5, "Please choose 2 at most."),
        (
            "day",
            json!("2019-12-31"),
            6,
            "Please choose 2020-01-01 or later.",
        ),
        (
            "day",
            json!("2021-01-01"),
            6,
            "Please choose 2020-12-31 or earlier.",
        ),
        ("again", json!("AB2"), 7, "Not the same."),
    ] {
        let mut answers = fine.clone();
        answers[name] = value.clone();
        assert!(
            wrong(&form, answers).contains(&(index, said.to_owned())),
            "{name}: {value}"
        );
    }
}

#[test]
fn a_choice_of_ones_own_has_a_field_and_none_goes_with_no_other() {
    let form = asks(json!([
        { "type": "checkbox", "name": "tools", "choices": ["pot"], "hasOther": true, "otherText": "Else", "showNoneItem": true },
        { "type": "dropdown", "name": "where", "choices": ["here"], "showOtherItem": true },
    ]));
    assert_eq!(shown(&form, json!({})), ["tools", "where"]);
    assert_eq!(
        shown(
            &form,
            json!({ "tools": ["pot", "other"], "where": "other" })
        ),
        ["tools", "tools-Comment", "where", "where-Comment"]
    );
    assert_eq!(
        wrong(&form, json!({ "tools": ["other"] })),
        [(1, "Please answer this question.".to_owned())]
    );
    assert_eq!(
        wrong(
            &form,
            json!({ "tools": ["other"], "tools-Comment": "a fork" })
        ),
        []
    );
    assert_eq!(
        wrong(&form, json!({ "tools": ["none", "pot"] })),
        [(0, "Please choose one of the answers.".to_owned())]
    );
    assert_eq!(wrong(&form, json!({ "tools": ["none"] })), []);
}

#[test]
fn an_answer_that_is_there_before_is_one_that_the_item_takes() {
    let form = asks(json!([
        { "type": "rating", "name": "fun", "defaultValue": 3 },
        { "type": "rating", "name": "more", "defaultValue": 9 },
        { "type": "comment", "name": "why", "defaultValue": "because" },
    ]));
    assert_eq!(
        form.defaults(),
        values(json!({ "fun": 3, "why": "because" }))
    );
}

#[test]
fn questions_under_one_have_values_by_their_names_and_each_is_judged_for_itself() {
    let form = asks(json!([
        { "type": "multipletext", "name": "who", "items": [
            { "name": "given", "title": "Given name", "isRequired": true },
            { "name": "age", "title": "Age", "inputType": "number", "min": 18 },
            { "name": "mail", "inputType": "email" } ] },
        { "type": "matrixdropdown", "name": "tools", "isRequired": true, "choices": [1, 2, 3], "rows": ["pot", { "value": "p", "text": "Plate" }],
          "columns": [
            { "name": "often", "title": "How often?", "isRequired": true },
            { "name": "why", "cellType": "text" },
            { "name": "for", "cellType": "checkbox", "choices": ["soup", "salad"] },
            { "name": "own", "cellType": "boolean" } ] },
    ]));
    let fine = json!({ "who": { "given": "Ann", "age": 18 },
                       "tools": { "pot": { "often": 1, "for": ["soup"] }, "p": { "often": 3, "why": "hot", "own": true } } });
    assert_eq!(wrong(&form, fine.clone()), []);
    let said = |path: &[&str], value: Option<Value>| {
        let mut answers = fine.clone();
        let (last, way) = path.split_last().unwrap();
        let at = way.iter().fold(&mut answers, |at, name| &mut at[*name]);
        match value {
            Some(value) => at[*last] = value,
            None => drop(at.as_object_mut().unwrap().remove(*last)),
        }
        wrong(&form, answers)
    };
    for (path, value, index, sentence) in [
        (
            &["who", "given"][..],
            None,
            0,
            "Given name: Please answer this question.",
        ),
        (
            &["who"],
            None,
            0,
            "Given name: Please answer this question.",
        ),
        (
            &["who", "age"],
            Some(json!(17)),
            0,
            "Age: Please enter a number of 18 or more.",
        ),
        (
            &["who", "age"],
            Some(json!("old")),
            0,
            "Age: Please enter a number.",
        ),
        (
            &["who", "mail"],
            Some(json!("me")),
            0,
            "mail: Please enter an e-mail address.",
        ),
        (
            &["who", "other"],
            Some(json!("me")),
            0,
            "Please choose one of the answers.",
        ),
        (&["tools"], None, 1, "Please answer this question."),
        (
            &["tools", "p", "often"],
            None,
            1,
            "Plate, How often?: Please answer this question.",
        ),
        (
            &["tools", "pot", "often"],
            Some(json!(4)),
            1,
            "pot, How often?: Please choose one of the answers.",
        ),
        (
            &["tools", "pot", "for"],
            Some(json!(["tea"])),
            1,
            "pot, for: Please choose one of the answers.",
        ),
        (
            &["tools", "pot", "own"],
            Some(json!("yes")),
            1,
            "pot, own: Please choose one of the answers.",
        ),
        (
            &["tools", "pan"],
            Some(json!({ "often": 1 })),
            1,
            "Please choose one of the answers.",
        ),
    ] {
        assert_eq!(
            said(path, value),
            [(index, sentence.to_owned())],
            "{path:?}"
        );
    }
    let Some(AnswerProblem::Part { path, .. }) = form
        .items()
        .nth(1)
        .unwrap()
        .find_problem(&values(json!({ "tools": { "pot": { "often": 1 } } })))
    else {
        panic!("a row has no answer");
    };
    assert_eq!(path, ["p", "often"]);
    let asked = asks(json!([
        { "type": "matrixdropdown", "name": "t", "rows": ["a.b"], "columns": [{ "name": "c", "cellType": "text" }] },
        { "type": "text", "name": "d", "visibleIf": "{t.a.b.c} = 'x'" },
    ]));
    assert_eq!(
        shown(&asked, json!({ "t": { "a.b": { "c": "x" } } })),
        ["t", "d"]
    );
    assert_eq!(
        shown(&asked, json!({ "t": { "a.b": { "c": "y" } } })),
        ["t"]
    );
}

#[test]
fn a_slider_takes_what_is_on_its_scale_and_a_ranking_every_choice_once() {
    let form = asks(json!([
        { "type": "slider", "name": "s", "min": -1, "max": 1, "step": 0.1, "isRequired": true },
        { "type": "slider", "name": "r", "sliderType": "range" },
        { "type": "text", "name": "t", "inputType": "range", "min": 1, "max": 7 },
        { "type": "ranking", "name": "o", "choices": ["a", 2, { "value": "c", "text": "C" }], "isRequired": true },
        { "type": "imagepicker", "name": "i", "choices": [{ "value": "x", "text": "X", "imageLink": "x.png" }, { "value": "y" }] },
        { "type": "imagepicker", "name": "j", "multiSelect": true, "choices": [{ "value": 1, "text": "X", "imageLink": "x.png" }] },
    ]));
    let fine = json!({ "s": 0.3, "r": [0, 100], "t": 7, "o": [2, "c", "a"], "i": "x", "j": [1] });
    assert_eq!(wrong(&form, fine.clone()), []);
    for (name, value) in [
        ("s", json!(0.35)),
        ("s", json!(1.1)),
        ("s", json!("0.3")),
        ("s", json!([0, 1])),
        ("t", json!(0)),
        ("t", json!(2.5)),
        ("t", json!("3")),
        ("r", json!(5)),
        ("r", json!([5, 4])),
        ("r", json!([5])),
        ("r", json!([-1, 4])),
        ("r", json!([1, 4.5])),
        ("o", json!(["a", 2])),
        ("o", json!(["a", 2, "a"])),
        ("o", json!(["a", 2, "c", "a"])),
        ("i", json!("y")),
        ("i", json!(["x"])),
        ("j", json!([1, 1])),
    ] {
        let mut answers = fine.clone();
        answers[name] = value.clone();
        let said = wrong(&form, answers);
        assert_eq!(said.len(), 1, "{name}: {value}");
        assert_eq!(
            said[0].1, "Please choose one of the answers.",
            "{name}: {value}"
        );
    }
    let missing: Vec<usize> = wrong(&form, json!({}))
        .into_iter()
        .map(|(index, _)| index)
        .collect();
    assert_eq!(missing, [0, 3], "nothing is answered before it is touched");
}

#[test]
fn texts_show_the_answers_of_the_same_form_as_people_read_them() {
    let form = asks(json!([
        { "type": "text", "name": "age", "inputType": "number" },
        { "type": "radiogroup", "name": "job", "choices": [{ "value": 1, "text": "Cook" }], "showOtherItem": true },
        { "type": "checkbox", "name": "likes", "choices": ["tea", { "value": "c", "text": "Coffee" }], "showNoneItem": true },
        { "type": "boolean", "name": "sure", "labelTrue": "Certainly" },
        { "type": "matrix", "name": "m", "columns": [{ "value": 2, "text": "Two" }], "rows": ["a", "b"] },
        { "type": "multipletext", "name": "you", "items": [{ "name": "field" }] },
    ]));
    let words = AnswerWords {
        yes: "yes",
        no: "no",
        none: "none of these",
        other: "something else",
        decimal: ",",
    };
    let answers = values(json!({
        "age": 1.5, "job": "other", "job-Comment": "{age}", "likes": ["c", "tea"], "sure": true, "m": { "b": 2 },
        "you": { "field": "<b>art</b>" },
    }));
    let text = "{age}/{job}/{likes}/{sure}/{m.b}/{m.a}/{you.field}";
    assert_eq!(
        form.fill_text(text, &answers, words),
        "1,5/{age}/Coffee, tea/Certainly/Two/–/<b>art</b>"
    );
    let answers = values(json!({ "job": "other", "likes": ["none"], "sure": false }));
    assert_eq!(
        form.fill_text("{job}, {likes}, {sure}, {age}", &answers, words),
        "something else, none of these, no, –"
    );
    let odd = "{ age } {nobody} {m} {m.c} {you} {{x} {";
    assert_eq!(form.fill_text(odd, &answers, words), odd);
    let names: Vec<&str> = names_in_braces("{a}{b.c} { d } {{e} {f").collect();
    assert_eq!(names, ["a", "b.c", "e"]);
}

#[test]
fn what_counts_when_the_time_is_up_is_shown_and_of_the_right_kind() {
    let form = Form::of(&json!({ "timeLimit": 90, "elements": [
        { "type": "text", "name": "age", "inputType": "number", "min": 18, "isRequired": true },
        { "type": "rating", "name": "fun", "isRequired": true },
        { "type": "comment", "name": "why", "visibleIf": "{fun} < 3", "isRequired": true },
        { "type": "comment", "name": "old", "visibleIf": "{age} notempty" },
    ] }));
    assert_eq!(form.time_limit_s, Some(90));
    let given = values(json!({ "age": "abc", "fun": 2, "old": "yes", "nobody": 1 }));
    assert_eq!(form.keep_fitting(&given), values(json!({ "fun": 2 })));
    let young = values(json!({ "age": 17 }));
    assert_eq!(form.keep_fitting(&young), young, "neither whole nor right");
}
