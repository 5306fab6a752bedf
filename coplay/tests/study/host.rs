//! The server on a study with a short episode.

use std::path::{Path, PathBuf};

use server_core::limits::Limits;
use signaling_server::assets::Assets;
use signaling_server::server::{Server, ServerOptions};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::page::PATIENCE;

/// Ticks of the test's episode.
pub(crate) const HORIZON: u32 = 60;

pub(crate) struct Host {
    pub(crate) dir: TempDir,
}

pub(crate) struct Running {
    pub(crate) address: String,
    pub(crate) links: Vec<String>,
    pub(crate) stop: oneshot::Sender<()>,
    pub(crate) serving: JoinHandle<anyhow::Result<()>>,
}

impl Host {
    /// The example study with a short episode, and a front end with a module.
    pub(crate) fn new() -> Self {
        // These people are invented, and no test writes into the configuration of the user who runs it.
        store::identifier_key::choose_place(store::identifier_key::KeyPlace::Trial);
        let dir = tempfile::tempdir().unwrap();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/overcooked-dyad");
        let (study, modules) = (dir.path().join("study"), dir.path().join("dist/modules"));
        std::fs::create_dir_all(&study).unwrap();
        std::fs::create_dir_all(&modules).unwrap();
        for page in ["how.md", "thanks.md"] {
            std::fs::copy(example.join(page), study.join(page)).unwrap();
        }
        let text = std::fs::read_to_string(example.join("study.yaml")).unwrap();
        let short = text.replace("horizon: 900", &format!("horizon: {HORIZON}"));
        assert_ne!(text, short);
        std::fs::write(study.join("study.yaml"), short).unwrap();
        std::fs::write(dir.path().join("dist/index.html"), "<title>page</title>").unwrap();
        std::fs::write(modules.join("overcooked.wasm"), b"\0asm\x01\0\0\0").unwrap();
        Self { dir }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub(crate) fn options(&self) -> ServerOptions {
        ServerOptions {
            study: self.dir.path().join("study"),
            data: self.data(),
            links: 2,
            open: false,
            assets: Assets::Folder(self.dir.path().join("dist")),
            limits: Limits {
                // The scripts play faster than the clock.
                early_upload_tolerance: PATIENCE,
                ..Limits::default()
            },
            turn: None,
            access: Default::default(),
            models: Default::default(),
            changed: Default::default(),
        }
    }

    pub(crate) async fn start(&self) -> Running {
        self.start_with(self.options()).await
    }

    pub(crate) async fn start_with(&self, options: ServerOptions) -> Running {
        let server = Server::start(options).await.unwrap();
        let links = server.links.clone();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(listener, async { drop(stopped.await) }));
        Running {
            address,
            links,
            stop,
            serving,
        }
    }
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap().unwrap();
    }
}
