//! Circles of imports: files of a crate that need each other.
//!
//! A file imports another if its code names the other's module or something in it; what a module merely passes on with
//! `pub use` counts as its origin. Declaring a child module is no import.

use std::collections::{BTreeMap, BTreeSet};

use super::rust::RustFile;
use super::{Finding, RustFiles, texts};

/// The most files of a circle; more cannot be understood one after the other.
const MOST: usize = 6;

/// Crates that have larger circles, and the size of each. A size may only shrink.
const EXCEPTIONS: [(&str, usize); 2] = [
    // `Episode` is implemented in the files of its parts.
    ("archive", 7),
    // So is the kitchen.
    ("env-core", 7),
];

/// Finds circles that are too large, and exceptions that are not needed any more.
pub(super) fn check(files: &RustFiles, crates: &[(&str, String)]) -> Vec<Finding> {
    let sizes = crates.iter().map(|(name, folder)| {
        let circle = Crate::find(files, folder).largest_circle();
        (*name, circle.len())
    });
    compare(sizes)
}

fn compare<'a>(sizes: impl Iterator<Item = (&'a str, usize)>) -> Vec<Finding> {
    let found = sizes.filter_map(|(name, size)| {
        let exception = EXCEPTIONS.iter().find(|(known, _)| *known == name);
        let most = exception.map_or(MOST, |(_, most)| *most);
        let what = match exception {
            _ if size > most => format!(
                "{size} files import each other in a circle, and {most} may: `cargo xtask tidy --circles {name}` shows them"
            ),
            Some(_) if size < most => format!("its circle has {size} files now: write that into EXCEPTIONS"),
            _ => return None,
        };
        Some(Finding::new(&format!("crate {name}"), 1, what))
    });
    found.collect()
}

/// The imports within the largest circle of a crate, as `from -> to`.
pub(super) fn list_imports(
    files: &RustFiles,
    crates: &[(&str, String)],
    name: &str,
) -> Vec<String> {
    let folder = crates.iter().find(|(known, _)| *known == name);
    let found = folder.map(|(_, folder)| Crate::find(files, folder));
    found.map_or_else(Vec::new, |own| own.imports_within(&own.largest_circle()))
}

/// A module's path within its crate; empty for the root.
type Module = Vec<String>;

/// Files of a crate by module, without those of tests alone.
pub(super) struct Crate<'a> {
    files: BTreeMap<Module, &'a RustFile>,
}

/// The most names that a path is followed through.
const MAX_HOPS: usize = 16;

impl<'a> Crate<'a> {
    /// Takes files by their path under `src/`.
    pub(super) fn new(files: impl Iterator<Item = (&'a str, &'a RustFile)>) -> Self {
        let mut all: BTreeMap<Module, &RustFile> = BTreeMap::new();
        let mut programs = Vec::new();
        for (path, file) in files {
            match path {
                "main.rs" => programs.push(file),
                _ if path.starts_with("bin/") => {}
                _ => drop(all.insert(module_of(path), file)),
            }
        }
        if !all.contains_key(&Module::new()) {
            all.extend(programs.into_iter().map(|file| (Module::new(), file)));
        }
        let tests: Vec<Module> = all
            .iter()
            .flat_map(|(module, file)| {
                let children = file.children.iter().filter(|(_, is_test)| **is_test);
                children.map(|(child, _)| join(module, child))
            })
            .collect();
        all.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        Self { files: all }
    }

    /// The files of the crate in a folder.
    pub(super) fn find(files: &'a RustFiles, folder: &str) -> Self {
        let src = format!("{folder}/src/");
        let own = files.iter().filter(|(path, _)| !texts::is_test(path));
        Self::new(own.filter_map(|(path, file)| Some((path.strip_prefix(src.as_str())?, file))))
    }

    /// The largest set of files of which each needs every other, directly or not; one file alone is no circle.
    pub(super) fn largest_circle(&self) -> BTreeSet<String> {
        let imports: BTreeMap<&Module, BTreeSet<Module>> = self
            .files
            .keys()
            .map(|module| (module, self.imports(module)))
            .collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = imports
            .keys()
            .map(|&module| (module, reach(&imports, module)))
            .collect();
        let circles = reached.iter().map(|(module, others)| {
            let back = others
                .iter()
                .filter(|other| reached[**other].contains(module));
            back.map(|other| name(other)).collect::<BTreeSet<_>>()
        });
        circles
            .filter(|circle| circle.len() > 1)
            .max_by_key(BTreeSet::len)
            .unwrap_or_default()
    }

    /// Every import between two files of a set, as `from -> to`.
    fn imports_within(&self, circle: &BTreeSet<String>) -> Vec<String> {
        let froms = self
            .files
            .keys()
            .filter(|from| circle.contains(&name(from)));
        let pairs = froms.flat_map(|from| {
            let others = self.imports(from).into_iter().map(|to| name(&to));
            let others = others.filter(|to| circle.contains(to));
            others.map(move |to| format!("{} -> {to}", name(from)))
        });
        pairs.collect()
    }

    /// The modules that the file of a module names.
    fn imports(&self, module: &Module) -> BTreeSet<Module> {
        let paths = self.files[module].paths.iter();
        let mut found: BTreeSet<Module> = paths
            .filter_map(|path| self.resolve(module, path, MAX_HOPS))
            .collect();
        found.remove(module);
        found
    }

    /// Returns the module to which a path leads from a module; `None` if it leads out of the crate.
    fn resolve(&self, from: &Module, path: &[String], hops: usize) -> Option<Module> {
        let hops = hops.checked_sub(1)?;
        let ups = path.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (Module::new(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => (from[..from.len().checked_sub(ups)?].to_vec(), &path[ups..]),
            first => {
                let is_child = self.files.contains_key(&join(from, first));
                let is_named = self.use_of(from, first).is_some();
                if !is_child && !is_named {
                    return None;
                }
                (from.clone(), path)
            }
        };
        self.descend(base, rest, hops)
    }

    fn descend(&self, base: Module, rest: &[String], hops: usize) -> Option<Module> {
        let Some((first, rest)) = rest.split_first() else {
            return Some(base);
        };
        let child = join(&base, first);
        if self.files.contains_key(&child) {
            return self.descend(child, rest, hops);
        }
        if let Some(path) = self.use_of(&base, first) {
            let mut path = path.to_vec();
            path.extend_from_slice(rest);
            // A name of another crate that this one passes on.
            return self.resolve(&base, &path, hops);
        }
        Some(base)
    }

    /// The path that a name stands for in a module, if `use` made it.
    fn use_of(&self, module: &Module, name: &str) -> Option<&[String]> {
        let uses = &self.files.get(module)?.uses;
        let found = uses.iter().find(|known| known.name == name)?;
        Some(&found.path)
    }
}

fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if parts
        .last()
        .is_some_and(|last| last == "mod" || path == "lib")
    {
        parts.pop();
    }
    parts
}

fn join(module: &Module, child: &str) -> Module {
    let mut path = module.clone();
    path.push(child.to_owned());
    path
}

fn name(module: &Module) -> String {
    if module.is_empty() {
        "crate".to_owned()
    } else {
        module.join("::")
    }
}

/// The modules that a module needs, directly or not; itself among them only if it is in a circle.
fn reach<'a>(
    imports: &'a BTreeMap<&Module, BTreeSet<Module>>,
    from: &Module,
) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&Module> = imports[from].iter().collect();
    while let Some(module) = next.pop() {
        if found.insert(module)
            && let Some(more) = imports.get(module)
        {
            next.extend(more);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_that_is_too_large_and_an_exception_that_shrank_are_found() {
        let (name, most) = EXCEPTIONS[0];
        assert!(compare([("study", MOST), (name, most)].into_iter()).is_empty());
        assert_eq!(compare([("study", MOST + 1)].into_iter()).len(), 1);
        assert_eq!(
            compare([(name, most + 1), (name, most - 1)].into_iter()).len(),
            2
        );
    }

    fn circle(files: &[(&str, &str)]) -> Vec<String> {
        let read: Vec<(&str, RustFile)> = files
            .iter()
            .map(|(path, text)| (*path, RustFile::read(text).unwrap()))
            .collect();
        let files = read.iter().map(|(path, file)| (*path, file));
        Crate::new(files).largest_circle().into_iter().collect()
    }

    #[test]
    fn files_that_name_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod one; mod two; mod three; use one::A;"),
            ("one.rs", "use crate::two::B;"),
            ("two/mod.rs", "use super::three;"),
            ("three.rs", "fn three() { crate::one::a(); }"),
        ];
        assert_eq!(circle(&files), ["one", "three", "two"]);
        let line = [
            ("lib.rs", "mod one; use one::A;"),
            ("one.rs", "use std::one;"),
        ];
        assert!(circle(&line).is_empty());
    }

    #[test]
    fn a_name_that_is_passed_on_leads_to_its_origin() {
        let files = [
            (
                "lib.rs",
                "mod one; mod two; pub use one::A; pub use two::B;",
            ),
            ("one.rs", "pub struct A; use crate::B;"),
            ("two.rs", "pub struct B;"),
        ];
        assert!(circle(&files).is_empty());
    }

    #[test]
    fn imports_of_tests_make_no_circle() {
        let files = [
            ("lib.rs", "mod one; #[cfg(test)] mod laws;"),
            (
                "one.rs",
                "#[cfg(test)] mod tests { use crate::laws::check; }",
            ),
            ("laws.rs", "use crate::one::A;"),
        ];
        assert!(circle(&files).is_empty());
        let main = [
            ("main.rs", "mod one; fn main() { one::run() }"),
            ("one.rs", "use crate::main;"),
        ];
        assert_eq!(circle(&main), ["crate", "one"]);
    }
}
