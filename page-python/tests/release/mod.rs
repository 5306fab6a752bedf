//! The release of Pyodide that the tests use.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use page_python::Release;

/// The release that `cargo xtask setup` puts beside the source code.
pub(crate) fn installed() -> &'static Release {
    static RELEASE: OnceLock<Release> = OnceLock::new();
    RELEASE.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page-python");
        let release = page_python::install_release(&root.join(".tools/pyodide"), &folder);
        page_python::add_folder(folder);
        release.expect("`cargo xtask setup` fetches Pyodide for the tests")
    })
}
