//! Reads forms, and reports the places of faults.

mod attention;
mod braces;
mod choices;
mod inputs;
mod kinds;
mod looks;
mod part;
mod parts;
mod pictures;
mod rules;

use std::cell::RefCell;
use std::collections::BTreeSet;

use ::survey::{MOST, TIME_LIMIT};
use serde_json::{Value, json};

use self::attention::{check_attention, read_attention};
use self::kinds::read_own_keys;
use self::looks::{ELEMENT_LOOKS, LOOKS};
use self::part::{Part, Reading, Type, condition, pass, texts};
use super::Survey;
use crate::folder::{Source, StudyFolder, read_text};
use crate::formula;
use crate::limits::MAX_VIEW;
use crate::page::sanitise::sanitise_html;
use crate::problem::{ProblemReport, make_hint};
use crate::read::{Cursor, Fields};
use crate::text;
use crate::yaml::{self, Data};

const TYPES: [(&str, Type); 17] = [
    ("radiogroup", Type::One),
    ("dropdown", Type::One),
    ("buttongroup", Type::One),
    ("checkbox", Type::Many),
    ("tagbox", Type::Many),
    ("rating", Type::Rating),
    ("boolean", Type::Boolean),
    ("text", Type::Text),
    ("comment", Type::Comment),
    ("html", Type::Html),
    ("matrix", Type::Matrix),
    ("imagepicker", Type::Pictures),
    ("ranking", Type::Ranking),
    ("slider", Type::Slider),
    ("multipletext", Type::Texts),
    ("matrixdropdown", Type::Table),
    ("panel", Type::Panel),
];

/// Types of SurveyJS that are not asked here, why, and what to do instead.
const REFUSED: [(&str, &str); 3] = [
    (
        "signaturepad",
        "a `signaturepad` is not asked here, as a signature says who somebody is, and data here do not; a stage of \
         `type: consent` records who agreed to which text, and when",
    ),
    (
        "file",
        "a `file` is not asked here, as answers are text that every table can hold; take files in at a page of another \
         site with a stage of `type: external`, or ask for the text itself with a `comment`",
    ),
    (
        "matrixdynamic",
        "a `matrixdynamic` is not asked here, as its rows have no names that the data could have; write a \
         `matrixdropdown` with as many rows as may be filled in",
    ),
];

const DOC: &str = "A form, in the JSON format of SurveyJS.";

/// Reads the fields of a survey stage.
pub(crate) fn read_stage(source: Source<'_>, fields: &mut Fields<'_>) -> Option<Survey> {
    fields.about(DOC);
    let title = fields.key("title", "The heading, if the form has none.");
    let mut braces = Vec::new();
    let title =
        title.maybe(|place| text::read_with_values(&place, source.languages, 200, &mut braces));
    let inline = fields.key("surveyjs", "The form, written in the study file.");
    let has_inline = inline.place.is_some();
    let inline = inline.maybe(|place| document(source.dir, "", &place));
    let file = fields.key("surveyjs_file", "The form, in a separate JSON file.");
    let both = file.place.clone().filter(|_| has_inline);
    let file = file.maybe(|place| in_file(source, &place));
    let doc = "Attention checks.";
    let attention = fields
        .key("attention", doc)
        .maybe(|place| read_attention(&place).map(|attention| (attention, place)));
    let doc = "The time for the whole form, in seconds. When it is over, the answers so far are recorded, complete or not, \
               and the study continues. The time does not stop while the page is closed.";
    let time_limit_s =
        (fields.key("time_limit_s", doc)).maybe(|place| place.read_whole(5..=86_400, "seconds"));
    let survey = match (both, inline?, file?) {
        (Some(place), ..) => {
            place.report_problem("both `surveyjs` and `surveyjs_file`; keep one of the two");
            None
        }
        (None, None, None) => {
            fields.whole.report_problem("a survey needs its questions: write `surveyjs:` with `elements`, or `surveyjs_file: post.json`");
            None
        }
        (None, inline, file) => inline.or(file),
    };
    let (mut survey, title) = (survey?, title?);
    if let Some(title) = title {
        if survey.surveyjs.get("title").is_some() {
            fields.whole.report_problem(
                "the stage and its surveyjs document both have a title; keep one of the two",
            );
            return None;
        }
        survey.surveyjs["title"] = json!(title);
        survey.insets.extend(braces);
    }
    if let Some(time_limit_s) = time_limit_s? {
        survey.surveyjs[TIME_LIMIT] = json!(time_limit_s);
        survey.form.time_limit_s = Some(time_limit_s);
    }
    if let Some((attention, place)) = attention? {
        check_attention(&survey, &attention, &place)?;
        survey.attention = Some(attention);
    }
    Some(survey)
}

fn in_file(source: Source<'_>, place: &Cursor<'_>) -> Option<Survey> {
    let file = place.file("JSON file")?;
    let text = read_text(source.dir, place, &file, MAX_VIEW as u64, "post.json")?;
    let report = ProblemReport::new(&file);
    // JSON is read as the YAML that it is, because that reader knows the lines; JSON's own reader goes
    // first, because its rules are the stricter ones.
    let survey = match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
        Ok(_) => yaml::parse(&text, &report)
            .and_then(|node| document(source.dir, &file, &Cursor::root(&node, &report))),
        Err(error) => {
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            let at = crate::problem::LineColumn {
                line: number(error.line()),
                column: number(error.column()),
            };
            report.add(
                at,
                "",
                format!("this is not JSON: {error}; check its commas, quotes and brackets"),
            );
            None
        }
    };
    place.report.add_problems(report);
    survey
}

/// Reads a document.
fn document(dir: &StudyFolder, file: &str, place: &Cursor<'_>) -> Option<Survey> {
    place.named("surveyjs", |place| form(dir, file, place))
}

fn form(dir: &StudyFolder, file: &str, place: &Cursor<'_>) -> Option<Survey> {
    let reading = Reading {
        dir,
        file,
        unused: RefCell::default(),
        pictures: RefCell::default(),
    };
    let mut fields = place.fields("a SurveyJS document")?;
    texts(
        &mut fields,
        &[
            ("title", "The heading."),
            ("description", "A text below the title."),
        ],
    );
    pass(&mut fields, LOOKS, &reading);
    let doc = "When answers to hidden elements are removed; always before they are recorded.";
    let _ = (fields.key("clearInvisibleValues", doc))
        .maybe(|place| place.read_word("choice", &[("onComplete", ()), ("onHidden", ())]));
    let doc = "When answers are checked; always when participants leave a page of the form.";
    let _ = (fields.key("checkErrorsMode", doc))
        .maybe(|place| place.read_word("choice", &[("onNextPage", ())]));
    let pages = fields.key(
        "pages",
        "The pages of the form. Or write `elements`, for one page.",
    );
    let has_pages = pages.place.is_some();
    let pages = pages.maybe(|place| {
        let pages = place.list("pages", 50)?;
        let pages = pages.iter().map(|page| form_page(page, &reading));
        Some(pages.collect::<Vec<_>>())
    });
    let elements_of = fields.key("elements", "The elements of a form with one page.");
    let both = elements_of.place.clone().filter(|_| has_pages);
    if let Some(both) = both {
        both.report_problem("both `pages` and `elements`; put the elements into a page");
    }
    let parts = match has_pages && !place.may(false) {
        true => pages?.unwrap_or_default(),
        false => vec![
            elements_of.require("[{type: comment, name: thoughts, title: …}]", |place| {
                elements(&place, &reading)
            }),
        ],
    };
    fields.done();
    let parts: Vec<Vec<Part<'_>>> = parts.into_iter().collect::<Option<_>>()?;
    let parts: Vec<Part<'_>> = parts.into_iter().flatten().collect();
    check_names(&parts);
    let correct = parts.iter().filter_map(|part| match part {
        Part::Item { name, correct, .. } => Some((name.clone(), correct.as_ref()?.0.clone())),
        Part::Asks { .. } => None,
    });
    let mut surveyjs = place.json();
    sanitise(&mut surveyjs);
    pictures::place_pictures(&mut surveyjs, &reading.pictures.borrow());
    let mut survey = Survey::of(surveyjs, correct.collect());
    survey.unused = reading.unused.into_inner();
    survey
        .insets
        .extend(braces::find_braces(place, &survey.form));
    survey.pictures = reading.pictures.into_inner().into_values().collect();
    check_values(&survey, &parts)?;
    Some(survey)
}

/// Reports duplicate names, and conditions about questions that do not exist or come later.
fn check_names(parts: &[Part<'_>]) {
    let mut names = BTreeSet::new();
    for part in parts {
        if let Part::Item { name, named, .. } = part
            && !names.insert(name.as_str())
        {
            named.report_problem(format!(
                "`{name}` is already the name of another element; names are the columns of the data"
            ));
        }
    }
    let all: Vec<&str> = names.into_iter().collect();
    let mut before = BTreeSet::new();
    for part in parts {
        match part {
            Part::Item { name, .. } => drop(before.insert(name.as_str())),
            Part::Asks {
                condition,
                place,
                anything,
            } => {
                for (asked, at) in condition.names() {
                    let is = |name: &&str| {
                        let row = asked.strip_prefix(*name);
                        row.is_some_and(|row| row.is_empty() || row.starts_with(['.', '-']))
                    };
                    let message = match all.iter().find(|name| is(name)) {
                        None => format!(
                            "the form has no element `{asked}`; {}",
                            make_hint(asked, &all)
                        ),
                        Some(_) if *anything || before.iter().any(is) => continue,
                        Some(_) => format!(
                            "`{asked}` is asked later, and what is shown can follow from what was asked before alone; \
                             move `{asked}` up"
                        ),
                    };
                    let text = place.text(usize::MAX).unwrap_or_default();
                    formula::report(place, &text, at, &message);
                }
            }
        }
    }
}

/// Reports right answers and default answers that an element does not take.
fn check_values(survey: &Survey, parts: &[Part<'_>]) -> Option<()> {
    let mut whole = Some(());
    for part in parts {
        let Part::Item {
            name,
            correct,
            default,
            ..
        } = part
        else {
            continue;
        };
        let Some(item) = survey.form.item(name) else {
            continue;
        };
        let default = default.as_ref().map(|place| (place.json(), place));
        let correct = correct
            .as_ref()
            .map(|(value, place)| (value.clone(), place));
        for (value, place) in correct.into_iter().chain(default) {
            if !item.is_taken(&value) {
                place.report_problem(format!("{value} is not an answer that this element takes"));
                whole = None;
            }
        }
    }
    whole
}

/// Makes HTML harmless, wherever it stands.
fn sanitise(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(sanitise),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match key == "html" {
                    true => clean(value),
                    false => sanitise(value),
                }
            }
        }
        _ => {}
    }
}

/// Makes HTML harmless, in one language or several.
fn clean(html: &mut Value) {
    match html {
        Value::String(text) => *text = sanitise_html(text),
        Value::Object(texts) => texts.values_mut().for_each(clean),
        _ => {}
    }
}

fn form_page<'a>(place: &Cursor<'a>, reading: &Reading<'_>) -> Option<Vec<Part<'a>>> {
    let mut fields = place.fields("a page of the form")?;
    let _ = fields
        .key("name", "The name of the page. It is not in the data.")
        .maybe(|place| place.text(60));
    texts(
        &mut fields,
        &[
            ("title", "The heading."),
            ("description", "A text below the title."),
        ],
    );
    pass(&mut fields, LOOKS, reading);
    let doc = "A condition over answers on earlier pages. The page is shown only if it holds.";
    let shown = condition(&mut fields, "visibleIf", doc, false);
    let items = fields.key("elements", "The elements of the page.");
    let items = items.require_key("[{type: comment, name: thoughts}]", |place| {
        elements(&place, reading)
    });
    fields.done();
    let mut parts = Vec::from_iter(shown?);
    parts.extend(items?);
    Some(parts)
}

fn elements<'a>(place: &Cursor<'a>, reading: &Reading<'_>) -> Option<Vec<Part<'a>>> {
    let places = place.list("elements", MOST)?;
    let read: Vec<_> = places.iter().map(|place| element(place, reading)).collect();
    let read = read.into_iter().collect::<Option<Vec<_>>>()?;
    Some(read.into_iter().flatten().collect())
}

/// Reads an element, with those inside it.
fn element<'a>(place: &Cursor<'a>, reading: &Reading<'_>) -> Option<Vec<Part<'a>>> {
    place.named("element", |place| {
        let mut fields = place.fields("an element")?;
        refuse(place)?;
        let named = fields.key(
            "name",
            "The name in the data. Unique in the form.",
        );
        let named = named.require_key("thoughts", |place| place.text(60).map(|name| (name, place)));
        texts(
            &mut fields,
            &[
                ("title", "The question."),
                ("description", "A smaller text below the title."),
                (
                    "requiredErrorText",
                    "The message if a required answer is missing.",
                ),
            ],
        );
        let required = (fields.key("isRequired", "Whether an answer is required."))
            .or(false, |place| place.read_flag());
        let conditions = [
            (
                "visibleIf",
                "A condition over earlier answers. The element is shown only while it holds.",
                false,
            ),
            (
                "requiredIf",
                "A condition over the answers. An answer is required while it holds.",
                true,
            ),
            (
                "enableIf",
                "A condition over the answers. The element can be answered only while it holds.",
                true,
            ),
        ];
        let conditions =
            conditions.map(|(key, doc, anything)| condition(&mut fields, key, doc, anything));
        pass(&mut fields, ELEMENT_LOOKS, reading);
        let default = fields.key(
            "defaultValue",
            "The answer that is filled in at first.",
        );
        let default = default.maybe(|place| {
            place.json();
            Some(place)
        });
        let doc = "The type of the element. It decides which other keys exist.";
        let mut asks = true;
        let inner = fields.variants("type", doc, "element type", &TYPES, |kind, fields| {
            asks = !matches!(kind, Type::Html | Type::Panel);
            match kind {
                Type::Panel => panel(fields, reading),
                kind => read_own_keys(kind, fields, reading),
            }
        });
        let correct = fields.key(
            "correctAnswer",
            "The right answer, for an item of `attention`. It is never sent to participants' pages.",
        );
        let correct = correct.maybe(|place| Some((place.json(), place)));
        fields.done();
        let (name, named) = named?;
        required?;
        let mut parts = Vec::new();
        for condition in conditions {
            parts.extend(condition?);
        }
        let (correct, default) = (correct?, default?);
        parts.extend(asks.then_some(Part::Item {
            name,
            named,
            correct,
            default,
        }));
        // The content of a panel comes after the panel's own condition.
        parts.extend(inner?);
        Some(parts)
    })
}

/// Reads the content of a panel.
fn panel<'a>(fields: &mut Fields<'a>, reading: &Reading<'_>) -> Option<Vec<Part<'a>>> {
    kinds::report_answer_keys(fields);
    let inner = fields.key("elements", "The elements of the panel.");
    inner.require_key("[{type: comment, name: thoughts}]", |place| {
        elements(&place, reading)
    })
}

/// Reports an element of a type that is known and not asked here.
fn refuse(place: &Cursor<'_>) -> Option<()> {
    let kind = match place.node.at("type").map(|node| &node.data) {
        Some(Data::Plain(kind) | Data::Quoted(kind)) => kind,
        _ => return Some(()),
    };
    match REFUSED.iter().find(|(refused, _)| refused == kind) {
        Some((_, why)) => {
            place.wrong_at("type", *why);
            None
        }
        None => Some(()),
    }
}
