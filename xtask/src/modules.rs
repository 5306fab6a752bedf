//! Researchers' own environments: the templates and the example in C are built as their pages say, and keep the laws.
//! So do our own modules, in the interpreter.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Result, anyhow, ensure};

use crate::build;
use crate::setup::{self, WASM};
use crate::tally::Count;
use crate::workspace::{Workspace, output, run};

/// Builds each module and checks it with the `coplay` of the test command.
pub(crate) fn check(workspace: &Workspace, count: &mut Count) -> Result<()> {
    let folder = workspace.target.join("templates");
    fs::create_dir_all(&folder)?;
    let example = workspace.root.join("examples/environment-c/tag.c");
    // Cargo compiles the template in Rust while the others are checked.
    let held = thread::scope(|scope| {
        let rust = scope.spawn(|| rust(workspace, &folder));
        let c = template(workspace, &folder, "c")?;
        let mut modules = build::build_modules(workspace)?;
        modules.extend(games(workspace, &folder)?);
        modules.push(compile(workspace, &c.join("c_env.c"))?);
        modules.push(compile(workspace, &example)?);
        for module in &modules {
            keeps_laws(workspace, module)?;
        }
        for (id, is_old) in [("tag", true), ("c_env", false)] {
            let told = lint(workspace, &folder, id)?;
            ensure!(
                told.contains("an older version of the interface") == is_old,
                "{id}: lint says {told}"
            );
        }
        let rust = rust
            .join()
            .map_err(|_| anyhow!("the thread of the template panicked"))?;
        keeps_laws(workspace, &rust?)?;
        anyhow::Ok(modules.len() + 1)
    })?;
    count.passed += u32::try_from(held)?;
    let found = tired(workspace, &example)?;
    ensure!(
        found.contains("gave up"),
        "a module that traps keeps the laws: {found}"
    );
    count.passed += 1;
    Ok(())
}

/// Asks the `coplay` of the test command whether a module keeps the laws.
fn keeps_laws(workspace: &Workspace, module: &Path) -> Result<()> {
    let mut coplay = workspace.command(workspace.checked("coplay"));
    let verdict = output(coplay.args(["env", "check", "--json"]).arg(module))?;
    let verdict: serde_json::Value = serde_json::from_str(&verdict)?;
    let laws = verdict["laws"].as_array().map_or(0, Vec::len);
    let name = module.display();
    ensure!(laws > 20, "{name}: only {laws} laws were looked at");
    println!("    {laws} laws hold in {name}");
    Ok(())
}

/// Checks a study that plays a module, and returns the output of `coplay lint`.
fn lint(workspace: &Workspace, folder: &Path, id: &str) -> Result<String> {
    let dir = folder.join("lint").join(id);
    fs::create_dir_all(&dir)?;
    let module = format!("{id}.wasm");
    fs::copy(folder.join(&module), dir.join(&module))?;
    let study = format!(
        "format: 1\nstudy: {{id: tag, version: 1.0.0, title: Tag, contact: lab@example.edu}}\ntimeline:\n  - {{id: play, type: env, env: {id}@0.1.0, module: {module}, \
         players: [self, {{policy: random}}]}}\n"
    );
    fs::write(dir.join("study.yaml"), study)?;
    let mut coplay = workspace.command(workspace.checked("coplay"));
    output(coplay.arg("lint").arg(&dir))
}

/// Builds the games in turns that the browser tests play.
fn games(workspace: &Workspace, folder: &Path) -> Result<Vec<PathBuf>> {
    let built = build::build_examples(workspace, &["matrix_game", "public_goods"])?;
    let copy = |module: PathBuf| -> Result<PathBuf> {
        let there = folder.join(module.file_name().unwrap_or_default());
        fs::copy(&module, &there)?;
        Ok(there)
    };
    built.into_iter().map(copy).collect()
}

/// Makes the example give up in its 40th step, and gives what `coplay env check` says of it.
/// The browser tests play it.
fn tired(workspace: &Workspace, example: &Path) -> Result<String> {
    let step = "int was_over = state.step >= horizon;";
    let code = fs::read_to_string(example)?;
    let trap = format!("{step}\n  if (state.step == 39) __builtin_trap();");
    let file = workspace.target.join("templates/tired.c");
    fs::write(&file, code.replace(step, &trap))?;
    let module = compile(workspace, &file)?;
    let mut coplay = workspace.command(workspace.checked("coplay"));
    let checked = coplay.args(["env", "check"]).arg(module).output()?;
    ensure!(
        !checked.status.success(),
        "a module that traps passes the check"
    );
    Ok(String::from_utf8_lossy(&checked.stdout).into_owned())
}

/// Builds and tests the template in Rust.
fn rust(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    let dir = template(workspace, folder, "rust")?;
    let target = folder.join("target");
    // The versions that the workspace has, so that nothing else is fetched.
    fs::copy(workspace.root.join("Cargo.lock"), dir.join("Cargo.lock"))?;
    for words in [&["build", "--target", WASM][..], &["test"]] {
        let mut cargo = workspace.cargo(words);
        cargo.current_dir(&dir).arg("--offline");
        cargo.arg("--target-dir").arg(&target);
        run(&format!("template in Rust: cargo {}", words[0]), &mut cargo)?;
    }
    Ok(target.join(WASM).join("debug/rust_env.wasm"))
}

/// Writes a template afresh.
fn template(workspace: &Workspace, folder: &Path, language: &str) -> Result<PathBuf> {
    let dir = folder.join(language);
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    let mut coplay = workspace.command(workspace.checked("coplay"));
    coplay.args(["new", "environment", "--language", language, "--name"]);
    coplay.arg(format!("{language}_env"));
    coplay.arg("--coplay").arg(&workspace.root).arg(&dir);
    run(&format!("writing the template in {language}"), &mut coplay)?;
    Ok(dir)
}

/// Compiles an environment in C, as its page says.
fn compile(workspace: &Workspace, code: &Path) -> Result<PathBuf> {
    let name = code.with_extension("wasm");
    let module = workspace
        .target
        .join("templates")
        .join(name.file_name().unwrap_or_default());
    let mut clang = workspace.command(setup::find_clang(workspace)?);
    clang.args(["--target=wasm32", "-O2", "-Wall", "-Wextra", "-Werror"]);
    clang.args(["-nostdlib", "-fno-builtin", "-Wl,--no-entry"]);
    clang.arg(format!(
        "-fuse-ld={}",
        setup::wasm_linker(workspace)?.display()
    ));
    clang.arg("-o").arg(&module).arg(code);
    run(&format!("compiling {}", code.display()), &mut clang)?;
    Ok(module)
}
