//! Another process, which asks for a lock: this very program, started once more.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use conclave_client::{Client, Error, Fence};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::scene::{Scene, labelled};

const ADDRESS: &str = "CONFORMANCE_ADDRESS";
const NAME: &str = "CONFORMANCE_NAME";
const LABEL: &str = "CONFORMANCE_LABEL";

/// So begin the lines that are meant for us; others are of the test harness.
const SAYS: &str = "other: ";

/// What [`World::address`](crate::world::World::address) leads to, in the other process.
pub fn open(address: &str) -> Client {
    match address.split_once(':') {
        #[cfg(feature = "local")]
        Some(("local", directory)) => Client::new(conclave_client::Local::open(directory).unwrap()),
        #[cfg(feature = "etcd")]
        Some(("etcd", _)) => crate::etcd::open(address),
        _ => panic!("where is {address}?"),
    }
}

/// Another process that asks for a lock, and holds it until it is [let go](Self::let_go).
pub struct OtherProcess {
    child: Child,
    said: UnboundedReceiver<String>,
}

impl OtherProcess {
    /// Starts it.
    pub fn start(scene: &Scene, name: &str, label: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "other_process::is_another_process", "--ignored", "--nocapture"]);
        command.env(ADDRESS, scene.world.address()).env(NAME, name).env(LABEL, label);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (say, said) = unbounded_channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // The harness may have begun the line.
                if let Some((_, word)) = line.split_once(SAYS) {
                    let _ = say.send(word.to_owned());
                }
            }
        });
        Self { child, said }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The fence that it got. Waits until it did.
    pub async fn fence(&mut self, scene: &Scene) -> Fence {
        let word = self.word(scene).await;
        Fence(word.parse().unwrap_or_else(|_| panic!("the other process got no lock: {word}")))
    }

    /// What it says of its request: the fence, or why it has none.
    pub async fn word(&mut self, scene: &Scene) -> String {
        let word = scene.soon("another process is answered", self.said.recv()).await;
        word.expect("the other process says something")
    }

    /// Kills it where it stands.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Lets it release the lock, and end.
    pub fn let_go(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success(), "the other process released its lock");
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "started by other tests"]
async fn is_another_process() {
    // Somebody runs all that is ignored.
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let variable = |name| std::env::var(name).unwrap();
    let client = open(&address);
    let guard = match client.lock(labelled(&variable(NAME), &variable(LABEL))).await {
        Ok(guard) => guard,
        Err(error) => {
            let word = if matches!(error, Error::Evicted { .. }) { "evicted" } else { "refused" };
            return say(&format!("{word} ({error})"));
        }
    };
    say(&guard.fence().to_string());
    let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    end.await.unwrap().unwrap();
    guard.release().await.unwrap();
}

fn say(word: &str) {
    println!("{SAYS}{word}");
    std::io::stdout().flush().unwrap();
}
