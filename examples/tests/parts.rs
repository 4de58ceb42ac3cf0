//! Every part is done once and completely, although a worker is killed in the middle of one.

mod common;

use std::collections::BTreeMap;
use std::process::Command;

use common::run;

#[test]
fn every_part_is_done_once_and_the_dead_workers_part_by_another() {
    for _ in 0..5 {
        let ended = run(&mut Command::new(env!("CARGO_BIN_EXE_parts")));
        let said = ended.said.iter().map(|line| line.split(" | ").collect::<Vec<_>>());
        let (mut done, mut killed) = (BTreeMap::new(), Vec::new());
        for words in said {
            match words[..] {
                [worker, part, fence, "done"] => {
                    assert_eq!(done.insert(part, (worker, fence)), None, "{part} twice: {ended}");
                }
                [worker, part, fence, "killed"] => killed.push((part, (worker, fence))),
                _ => {}
            }
        }
        assert_eq!(done.len(), 12, "{ended}");
        let [(part, (dead, fence))] = killed[..] else { panic!("one is killed: {ended}") };
        let (heir, next_fence) = done[part];
        assert!(dead != heir && fence == "fence 1" && next_fence == "fence 2", "{ended}");
        let expected = "12 parts, 12 complete, 12 done once; ";
        assert!(ended.summary().starts_with(expected), "{ended}");
        assert_eq!(ended.code, Some(0), "{ended}");
    }
}
