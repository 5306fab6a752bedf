//! `README.md`.

use std::fmt::Write as _;

use super::described::Described;

/// `README.md`.
pub(super) fn make_readme(described: &Described<'_>) -> String {
    let facts = described.facts;
    let mut text = format!("# {}\n\n{}\n\n", described.title, facts.description);
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            // A string takes everything.
            let _ = writeln!(text, "- {name}: {value}");
        }
    };
    line("Authors", &facts.authors.join(", "));
    line("Licence", &facts.license_url());
    line("Address", &facts.url);
    line(
        "Study",
        &format!("{} {}", described.study, described.version),
    );
    line(
        "Ethics protocol",
        described.protocol.as_deref().unwrap_or_default(),
    );
    if let Some((first, last)) = &described.days {
        line(
            "Collected",
            &format!("{first} to {last}, from {} people", described.people),
        );
    }
    text.push_str(
        "
| Folder | Content |
| --- | --- |
| `data/` | every table as CSV, described in `dataset_description.json` (Psych-DS) |
| `tables/` | the same as Parquet, described in `croissant.json` and `tables/tables.json` |
| `record/` | the recordings of all episodes, with the environments and models that they need |
| `studies/` | the study files as they were run, with every text, such as the consent |

`ro-crate-metadata.json` has the SHA-256 of every file.
`coplay verify FILE.zip` simulates every episode again, and compares it with the recording and with the tables.
",
    );
    text
}
