//! Makes `dist/` from the compiled client, the static front end and the environment modules.
//!
//! A separate program because the binding generator takes half a minute to compile:
//! `cargo xtask build` runs it, and no other command waits for it.
//! It must not know how its inputs are built. A file whose bytes are unchanged is left alone,
//! so that the server, which embeds the folder, is only built again when the page changed.

// The server enters the sentences of a study by the same code, and this program needs no crate of ours.
#[path = "../../signaling-server/src/first_page.rs"]
mod first_page;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};
use first_page::{FirstSentences, enter_first_sentences};
use wasm_bindgen_cli_support::Bindgen;

/// Files of `dist/` by their path in it, with `/` between folders.
type Files = BTreeMap<String, Vec<u8>>;

/// The program's options.
struct Order {
    client: PathBuf,
    /// The front end; `None` for a page that has only the client.
    web: Option<PathBuf>,
    out: PathBuf,
    /// The server's part of studies without a server, if the page has it.
    offline: Option<PathBuf>,
    modules: Vec<PathBuf>,
    dev: bool,
}

fn main() -> Result<()> {
    let order = order(env::args().skip(1))?;
    let mut files = Files::new();
    if let Some(web) = &order.web {
        gather(web, "", &mut files)?;
        inline(&mut files)?;
    }
    for program in [Some(&order.client), order.offline.as_ref()]
        .into_iter()
        .flatten()
    {
        files.extend(bindings(program, order.dev)?);
    }
    for module in &order.modules {
        let name = module
            .file_name()
            .and_then(|n| n.to_str())
            .context("a module without a name")?;
        files.insert(format!("modules/{name}"), read(module)?);
    }
    // A fast level while developing: only the release page is measured and sent far.
    compress(&mut files, if order.dev { 4 } else { 11 })?;
    write(&order.out, &files)
}

fn order(mut args: impl Iterator<Item = String>) -> Result<Order> {
    let mut paths: BTreeMap<String, PathBuf> = BTreeMap::new();
    let (mut modules, mut dev) = (Vec::new(), false);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--dev" => dev = true,
            "--module" => modules.push(args.next().context("--module wants a path")?.into()),
            "--client" | "--web" | "--out" | "--offline" => {
                let path = args.next().with_context(|| format!("{arg} wants a path"))?;
                paths.insert(arg, path.into());
            }
            _ => bail!("unknown argument {arg}; `cargo xtask build` is the way to run this"),
        }
    }
    let (web, offline) = (paths.remove("--web"), paths.remove("--offline"));
    let mut take = |name: &str| {
        paths
            .remove(name)
            .with_context(|| format!("{name} is missing"))
    };
    Ok(Order {
        client: take("--client")?,
        web,
        offline,
        out: take("--out")?,
        modules,
        dev,
    })
}

/// Adds every file below `dir`, hidden ones left out.
fn gather(dir: &Path, prefix: &str, files: &mut Files) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))? {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|n| n.to_str())
            .context("a file name is not UTF-8")?;
        if name.starts_with('.') {
            continue;
        }
        let key = format!("{prefix}{name}");
        if path.is_dir() {
            gather(&path, &format!("{key}/"), files)?;
        } else {
            files.insert(key, read(&path)?);
        }
    }
    Ok(())
}

/// The link to a style sheet in the page, up to its path and after it.
const SHEET: (&str, &str) = ("<link rel=\"stylesheet\" href=\"", "\">");

/// The languages that every page has; the first is that of the page itself.
const LANGUAGES: [(&str, &str); 2] = [
    ("en", include_str!("../../texts/en.yaml")),
    ("de", include_str!("../../texts/de.yaml")),
];

/// Reads the sentences of the first second: a name, a colon and a sentence in quotes on each line.
fn read_first_sentences((tag, file): (&str, &str)) -> Result<FirstSentences> {
    let lines = file.lines().filter(|line| line.starts_with("first_"));
    let sentences = lines.map(|line| {
        let (name, sentence) = line.split_once(": ").context("a name without a colon")?;
        let sentence = serde_json::from_str(sentence).with_context(|| format!("{tag}: {name}"))?;
        Ok((name.to_owned(), sentence))
    });
    Ok((tag.to_owned(), sentences.collect::<Result<_>>()?))
}

/// Puts the sentences of the first second and the style sheets into the page itself: what it says first needs no second
/// answer of the server.
fn inline(files: &mut Files) -> Result<()> {
    let page = files.get("index.html").context("there is no index.html")?;
    let page = std::str::from_utf8(page).context("index.html is not UTF-8")?;
    let mut parts = page.split(SHEET.0);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (path, rest) = part.split_once(SHEET.1).context("a link has no end")?;
        let sheet = files
            .get(path)
            .with_context(|| format!("{path} is missing"))?;
        let sheet = std::str::from_utf8(sheet).with_context(|| format!("{path} is not UTF-8"))?;
        whole.push_str(&format!("<style>\n{sheet}</style>{rest}"));
    }
    let languages: Result<Vec<FirstSentences>> =
        LANGUAGES.into_iter().map(read_first_sentences).collect();
    let whole = enter_first_sentences(&whole, &languages?);
    files.insert("index.html".to_owned(), whole.into_bytes());
    Ok(())
}

/// The client as the browser loads it: the wasm and the JavaScript that binds it.
fn bindings(client: &Path, dev: bool) -> Result<Files> {
    let scratch = client.with_extension("bindings");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    let mut generator = Bindgen::new();
    generator
        .input_path(client)
        .typescript(false)
        .keep_debug(dev);
    generator
        .remove_name_section(!dev)
        .remove_producers_section(!dev);
    // `init()` then finds the wasm beside the script, as with the command-line tool.
    generator.omit_default_module_path(false);
    generator.web(true)?.generate(&scratch)?;
    let mut files = Files::new();
    gather(&scratch, "", &mut files)?;
    fs::remove_dir_all(&scratch)?;
    Ok(files)
}

/// Puts a Brotli twin beside every file of text or code. The server has the twin alone of the large ones.
fn compress(files: &mut Files, quality: i32) -> Result<()> {
    let params = brotli::enc::BrotliEncoderParams {
        quality,
        lgwin: 22,
        ..Default::default()
    };
    let mut twins = Files::new();
    for (name, bytes) in files.iter().filter(|(name, _)| compressible(name)) {
        let mut twin = Vec::new();
        brotli::BrotliCompress(&mut bytes.as_slice(), &mut twin, &params)
            .with_context(|| format!("compressing {name}"))?;
        twins.insert(format!("{name}.br"), twin);
    }
    files.append(&mut twins);
    Ok(())
}

fn compressible(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    [
        "css",
        "html",
        "ico",
        "js",
        "json",
        "md",
        "mjs",
        "svg",
        "txt",
        "wasm",
        "webmanifest",
        "xml",
    ]
    .contains(&extension)
}

/// Makes `out` hold exactly `files`, touching only what differs.
fn write(out: &Path, files: &Files) -> Result<()> {
    let mut stale = Files::new();
    if out.exists() {
        gather(out, "", &mut stale)?;
    }
    let wanted: BTreeSet<&String> = files.keys().collect();
    for name in stale.keys().filter(|name| !wanted.contains(name)) {
        fs::remove_file(out.join(name)).with_context(|| format!("removing {name}"))?;
    }
    for (name, bytes) in files
        .iter()
        .filter(|(name, bytes)| stale.get(*name) != Some(bytes))
    {
        let path = out.join(name);
        fs::create_dir_all(path.parent().context("a file without a folder")?)?;
        fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    }
    report(files)
}

fn report(files: &Files) -> Result<()> {
    let mut err = std::io::stderr().lock();
    for (name, bytes) in files.iter().filter(|(name, _)| !name.ends_with(".br")) {
        let sent = files
            .get(&format!("{name}.br"))
            .map_or(bytes.len(), Vec::len);
        writeln!(err, "    {name:<32} {:>9} B, {sent:>8} B sent", bytes.len())?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_begins_in_english_and_has_every_language() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = Files::new();
        gather(&workspace.join("web"), "", &mut files).unwrap();
        inline(&mut files).unwrap();
        let page = String::from_utf8(files.remove("index.html").unwrap()).unwrap();
        for part in [
            "data-text=\"first_heading\">Getting ready</h1>",
            "data-text=\"first_late\">It takes longer",
            "lang=\"en\">This study runs",
            "lang=\"de\">Diese Studie läuft",
            "\"first_heading\":\"Gleich geht es los\"",
            "<style>",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
        assert!(
            !page.contains("\"></h1>") && !page.contains("\"></p>"),
            "{page}"
        );
    }
}
