//! The engine `memory`. All clients share the one store, whose time is moved by hand.

use std::time::Duration;

use conclave_client::{Client, Memory, Resource};

use crate::claims::test_every_claim;
use crate::world::{Ability, Doing, World, assert_kept};

pub struct MemoryWorld {
    memory: Memory,
}

impl MemoryWorld {
    pub fn new() -> Self {
        Self { memory: Memory::new() }
    }
}

impl World for MemoryWorld {
    fn client(&self) -> Client {
        Client::new(self.memory.clone())
    }

    fn pass(&self, time: Duration) -> Doing<'_> {
        Box::pin(async move {
            self.memory.advance(time);
            // Other threads need real time to run.
            tokio::time::sleep(Duration::from_millis(1)).await;
        })
    }

    fn abilities(&self) -> &'static [Ability] {
        &[Ability::Expire, Ability::Audit]
    }

    fn expire<'a>(&'a self, resource: &'a Resource) -> Doing<'a> {
        Box::pin(async move {
            self.memory.lose(resource.name.as_str());
        })
    }

    fn audit(&self) -> Vec<String> {
        self.memory.audit()
    }
}

fn keeps(claim: &str) {
    assert_kept(claim, |_| Box::new(MemoryWorld::new()));
}

test_every_claim!(keeps);
