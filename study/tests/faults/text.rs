//! Text that is no YAML, or that programs read in several ways.

use super::{fault, faults, swap};
use crate::folder::{Folder, STUDY};

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
        fault("title: Small", "title: 'A lab's study'"),
        "study.yaml:5:16: this is not well-formed: this apostrophe ends the text; write the text in double quotes, such as \"How's it?\""
    );
    assert_eq!(
        fault("isRequired: true", "visibleIf: {mood} > 3"),
        "study.yaml:37:22: this is not well-formed: text that begins with a name in braces stands in quotes: `\"{mood} …\"`"
    );
    assert_eq!(
        fault(
            "  - id: how\n    type: instructions\n    pages: [how.md]",
            "  {id: how, type: instructions, pages: [how.md]}"
        ),
        "study.yaml:9:3: this is not well-formed: a block in braces that nothing leads to; an item of a list begins with \
         `- `: `- {id: …}`"
    );
    assert_eq!(
        fault("{policy: cook}", "{policy: cook, onions}"),
        "study.yaml:17:25: timeline[1].bot.onions: unknown key without a value; if it belongs to the text before it, put all \
         of that in quotes, else known here: policy, disclose, temperature, every_ticks, action_mask, observation, delay_ticks, noise"
    );
    assert_eq!(
        fault("layout: cramped_room", "layout: {{ kitchen }}"),
        "study.yaml:23:16: a key must be a word, not a list or a block of keys; a name in braces stands in quotes: `\"{{ name }}\"`"
    );
    let found = faults("unquoted", |_, text| {
        swap(text, "layout: cramped_room", "layout: {{ kitchen }}");
        swap(
            text,
            "    window: 8\n",
            "    window: 8\n    for_each: {kitchen: [a, b]}\n",
        );
    });
    assert_eq!(
        found.len(),
        1,
        "what follows from it is not told: {found:#?}"
    );
}

#[test]
fn text_fields_take_scalars_as_they_are_written() {
    let folder = Folder::new("as-written");
    folder.write("study.yaml", STUDY.replace("title: Small", "title: No"));
    let study = study::load(&folder.path).expect("a good study");
    assert_eq!(
        (study.title.usual_text(), study.version.as_str()),
        ("No", "1.10")
    );
}
