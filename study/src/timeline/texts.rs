//! Values in the texts of stages: read once it is known what formulas can name at each stage.

use std::collections::BTreeMap;

use super::names::{self, Scope};
use super::read::Read;
use crate::design::Design;
use crate::formula::Types;
use crate::inset;
use crate::read::Cursor;
use crate::stage::StageKind;

/// Reads the content of braces in pages, forms and quizzes. `root` is the whole file.
pub(crate) fn texts(
    read: &mut Read<'_>,
    design: &Design,
    scopes: &BTreeMap<u16, Scope>,
    root: &Cursor<'_>,
) {
    let facts = names::list_variables(read);
    let empty = Scope::new();
    for index in 0..read.stages.len() {
        let scope = u16::try_from(index)
            .ok()
            .and_then(|stage| scopes.get(&stage));
        let mut known = facts.clone();
        known.extend(names::types_of(scope.unwrap_or(&empty)));
        let types = list_types(known, design, root);
        let report = read.places[index].report;
        match read.stages[index].as_mut().map(|stage| &mut stage.kind) {
            Some(StageKind::Survey(survey)) => survey.insets.read(&types, report),
            Some(StageKind::Quiz(quiz)) => quiz.insets.read(&types, report),
            Some(StageKind::Consent(consent)) => {
                for braces in consent.page.braces() {
                    let mut problem = braces.place.clone();
                    problem.message = "everybody agrees to the same text, so no value can be set in here; write it without `{{ }}`".to_owned();
                    report.add_problem(problem);
                }
            }
            Some(kind) => {
                let pages = kind.pages_mut().into_iter();
                pages.for_each(|page| page.read_insets(&types, report));
            }
            None => {}
        }
    }
}

/// Returns the variables of texts: those of every formula, and more.
pub(crate) fn list_types(known: Types, design: &Design, root: &Cursor<'_>) -> Types {
    let within = design.within.iter().map(|factor| factor.name.clone());
    let within: Vec<String> = within.collect();
    inset::inset_types(known, root.node.get("bonus").is_some(), &within)
}
