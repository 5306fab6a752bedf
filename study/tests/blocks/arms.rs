//! Arms of which a person walks one alone.

use super::*;

#[test]
fn arms_that_exclude_each_other_are_not_added_up() {
    let design = "design:\n  between:\n    speed: {levels: [slow, fast]}\n  within:\n    task: {levels: [one, two]}\n";
    let visits = |name: &str, timeline: &str| {
        let study = good(name, design, timeline);
        study.make_outline(&study::EnvFactsByStage::new()).visits
    };
    let arm = |id: &str, when: &str, pages: usize| {
        let pages: Vec<String> = (0..pages).map(|at| page(&format!("{id}{at}"))).collect();
        format!(
            "  - {{id: {id}, when: '{when}', block: [{}]}}\n",
            pages.join(", ")
        )
    };
    let slow = arm("slow", "speed == \"slow\"", 2);
    let fast = arm("fast", "speed == \"fast\"", 3);
    let each = format!(
        "  - for_each: task\n    block:\n{}{}",
        inside(&arm("one", "task == \"one\"", 1)),
        inside(&arm("two", "task == \"two\"", 4))
    );
    // One arm between, both within, and the end.
    assert_eq!(
        visits("arms", &format!("{slow}{fast}{each}")),
        3 + 1 + 4 + 1
    );
}

#[test]
fn arms_that_exclude_each_other_by_answers_are_not_added_up() {
    let visits = |name: &str, timeline: &str| {
        let study = good(name, "", timeline);
        study.make_outline(&study::EnvFactsByStage::new()).visits
    };
    let form = |id: &str, element: &str| {
        format!(
            "  - {{id: {id}, type: survey, surveyjs: {{elements: [{{name: a, {element}}}]}}}}\n"
        )
    };
    let arm = |id: &str, when: &str, pages: usize| {
        let pages: Vec<String> = (0..pages).map(|at| page(&format!("{id}{at}"))).collect();
        format!(
            "  - {{id: {id}, when: '{when}', block: [{}]}}\n",
            pages.join(", ")
        )
    };
    let two = |name: &str, element: &str, one: &str, other: &str| {
        let arms = arm("x", one, 2) + &arm("y", other, 3);
        // The form and the end are there in any case.
        visits(name, &(form("f", element) + &arms)) - 2
    };
    let choice = "type: radiogroup, choices: [young, old]";
    let number = "type: text, inputType: number";
    let cases = [
        (
            "equal",
            choice,
            "answers.f.a == \"young\"",
            "answers.f.a == \"old\"",
            3,
        ),
        (
            "unequal",
            choice,
            "answers.f.a == \"young\"",
            "answers.f.a != \"young\"",
            3,
        ),
        (
            "always",
            choice,
            "answers.f.a != \"nobody\"",
            "answers.f.a in [\"young\", \"old\"]",
            5,
        ),
        (
            "numbers",
            number,
            "answers.f.a < 30",
            "answers.f.a >= 30",
            3,
        ),
        (
            "overlap",
            number,
            "answers.f.a <= 30",
            "answers.f.a >= 30",
            5,
        ),
        ("between", number, "answers.f.a > 30", "answers.f.a < 31", 5),
        (
            "text",
            "type: comment",
            "answers.f.a == \"x\"",
            "answers.f.a != \"x\"",
            3,
        ),
        (
            "computed",
            number,
            "answers.f.a + 1 < 3",
            "answers.f.a + 1 >= 3",
            5,
        ),
        ("boolean", "type: boolean", "answers.f.a", "!answers.f.a", 3),
        ("there", number, "has(answers.f.a)", "!has(answers.f.a)", 5),
    ];
    for (name, element, one, other, most) in cases {
        assert_eq!(
            two(&format!("by-{name}"), element, one, other),
            most,
            "{name}"
        );
    }
    // A participant who answers again in every round can walk another arm in each, but only one in each round.
    let arms = arm("x", "answers.f.a == \"young\"", 2) + &arm("y", "answers.f.a == \"old\"", 3);
    let rounds = format!(
        "  - repeat: 4\n    block:\n{}",
        inside(&(form("f", choice) + &arms))
    );
    assert_eq!(visits("by-rounds", &rounds), 4 * (1 + 3) + 1);
    let before = arm("x", "answers.f.a == \"young\"", 2)
        + &form("f", choice)
        + &arm("y", "answers.f.a == \"old\"", 3);
    let rounds = format!("  - repeat: 4\n    block:\n{}", inside(&before));
    assert_eq!(visits("by-rounds-before", &rounds), 4 * (2 + 1 + 3) + 1);
}
