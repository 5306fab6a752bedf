//! A page of another site reaches the trial server of a researcher's machine.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::item::{Observed, Variant};
use crate::page::{Caller, PATIENCE};
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "dev-origin";
pub(crate) const TRIES: &str =
    "A page of another site talks to `coplay dev`, by a name that it made point to this machine or by a foreign origin.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let means = variant.choose("means", &["rebound name", "foreign origin", "name that begins as localhost"]);
    let path = variant.choose("path", &["/session", "/", "/desk"]);
    Study::questions().write(&world.study())?;
    world.try_out().await?;
    let address = world.address();
    let port = address.rsplit(':').next().unwrap_or_default().to_owned();
    let (host, origin) = match means {
        "rebound name" => (format!("evil.example:{port}"), format!("http://evil.example:{port}")),
        "foreign origin" => (address.clone(), "http://evil.example".to_owned()),
        _ => (
            format!("localhost.evil.example:{port}"),
            format!("http://localhost.evil.example:{port}"),
        ),
    };
    let upgrade = match path {
        "/session" => "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        _ => "Connection: close\r\n",
    };
    let ask = |host: String, origin: String| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n{upgrade}\r\n");
        let address = address.clone();
        async move {
            let mut stream = Caller::default().dial(&address).await?;
            stream.write_all(request.as_bytes()).await?;
            let mut head = vec![0; 12];
            timeout(PATIENCE, stream.read_exact(&mut head)).await??;
            Ok::<_, anyhow::Error>(String::from_utf8_lossy(&head[9..]).into_owned())
        }
    };
    let own = ask(address.clone(), format!("http://{address}")).await?;
    let status = ask(host.clone(), origin.clone()).await?;
    let is_served = status == own && !status.starts_with('4');
    let seen = format!("{path} by Host {host}, Origin {origin}: status {status}; by its own: {own}");
    Ok(Observed::broken_if(is_served, seen))
}
