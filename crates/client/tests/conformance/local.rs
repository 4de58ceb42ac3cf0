//! The engine `local`, each client with an engine of its own, as another process would have.

use conclave_client::{Client, Local};
use tempfile::TempDir;

use crate::claims::test_every_claim;
use crate::world::{Ability, World, assert_kept};

struct LocalWorld {
    directory: TempDir,
}

impl World for LocalWorld {
    fn client(&self) -> Client {
        Client::new(Local::open(self.directory.path()).unwrap())
    }

    fn abilities(&self) -> &'static [Ability] {
        &[Ability::Audit, Ability::OtherProcess]
    }

    fn audit(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.directory.path().join("audit.log"));
        log.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn address(&self) -> String {
        format!("local:{}", self.directory.path().display())
    }
}

fn keeps(claim: &str) {
    assert_kept(claim, |_| Box::new(LocalWorld { directory: tempfile::tempdir().unwrap() }));
}

test_every_claim!(keeps);
