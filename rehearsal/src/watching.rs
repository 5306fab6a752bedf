//! The answers of a bot to replays of episodes, which bots do not fetch.

use protocol::control::Answer;
use serde_json::{Value, json};
use study::assign::Rng;

/// The length of a replay as bots take it, ticks.
const TICKS: usize = 200;

/// Answers the task of a watch stage: a rating that changes, as many spans as needed, a choice.
pub(super) fn answer_watch(task: &str, rng: &mut Rng) -> Vec<Answer> {
    let task: Value = serde_json::from_str(task).unwrap_or_default();
    let mut answers = Vec::new();
    let mut add = |name: &str, value: &Value| {
        answers.push(Answer {
            name: name.to_owned(),
            value: value.to_string(),
        });
    };
    if task["rate"].is_object() {
        let mut values = vec![Value::Null; 2];
        values.extend((0..TICKS / 5).map(|_| json!(rng.draw_below(101))));
        add(
            "rating",
            &json!({ "first": 0, "every_ticks": 5, "values": values }),
        );
    }
    let mark = &task["mark"];
    if mark.is_object() {
        let least = mark["least"].as_u64().unwrap_or(0).max(1);
        let labels = mark["labels"].as_array();
        let labels = labels.filter(|labels| !labels.is_empty());
        let spans = (0..least).map(|number| {
            let first = rng.draw_below(TICKS);
            let end = first + rng.draw_below(TICKS - first);
            let label = labels.map_or(json!(""), |labels| {
                labels[rng.draw_below(labels.len())]["value"].clone()
            });
            let text = format!("“We” waited for each other, {number}");
            json!({ "first": first, "end": end, "label": label, "text": text })
        });
        let spans: Vec<Value> = spans.collect();
        add("marks", &json!(spans));
    }
    if task["choose"].is_object() {
        let order = task["order"].as_array();
        let order = order.filter(|order| !order.is_empty());
        if let Some(order) = order {
            add("choice", &order[rng.draw_below(order.len())]);
            add("left", &order[0]);
        }
    }
    answers
}
