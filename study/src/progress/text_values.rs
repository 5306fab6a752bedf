//! The values of a participant for the texts that they read.

use std::collections::BTreeMap;

use ::survey::{AnswerWords, Form, Values};
use formula::Value;

use super::Progress;
use crate::inset::InsetScope;
use crate::limits::MAX_AMOUNT;
use crate::stage::StageKind;
use crate::study::Study;

impl Progress {
    /// Returns the present values for a text.
    pub(super) fn text_values<'a>(&'a self, study: &'a Study) -> InsetScope<'a> {
        let mut values = self.facts().scope(study, &self.bindings(study));
        if let Some(bonus) = &study.bonus
            && let Ok(Value::Number(bonus)) = bonus.eval(&values)
        {
            let bonus = Value::from(bonus.clamp(0.0, MAX_AMOUNT));
            values.entry("bonus".to_owned()).or_insert(bonus);
        }
        let partner = self.last_partners(study).name();
        values
            .entry("partner".to_owned())
            .or_insert_with(|| partner.into());
        let orders = self.orders();
        let orders = orders.map(|(name, levels)| (name.clone(), Value::Text(levels.join(", "))));
        let orders = Value::Record(orders.collect());
        values.entry("order".to_owned()).or_insert(orders);
        let language = self.language(study);
        let answers = &self.facts().answers;
        let currency = study.recruitment.pay_terms.currency.as_deref();
        let word = |name| study.sentences.find(language, name).to_lowercase();
        InsetScope {
            language,
            no_yes: ["no", "yes"].map(word),
            currency: currency.unwrap_or_default(),
            values,
            write_answer: Box::new(move |stage, item| {
                write_answer(study, language, answers, stage, item)
            }),
        }
    }
}

/// An answer as the participant chose it: the labels of choices, in the language that they read now. `None` if the form
/// does not ask this.
fn write_answer(
    study: &Study,
    language: &str,
    answers: &BTreeMap<String, Values>,
    stage: &str,
    item: &str,
) -> Option<String> {
    let mut stages = study.timeline.iter();
    let StageKind::Survey(survey) = &stages.find(|known| known.id == stage)?.kind else {
        return None;
    };
    let say = |name| study.sentences.find(language, name);
    let words = AnswerWords {
        yes: say("yes"),
        no: say("no"),
        none: say("none"),
        other: say("other"),
        decimal: say("decimal"),
    };
    let form = Form::of(&survey.in_language(language));
    form.write_answer(item, answers.get(stage)?, words)
}
