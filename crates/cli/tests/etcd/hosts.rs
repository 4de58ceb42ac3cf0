//! Several hosts, and a network between them that loses what is sent.

use std::sync::Arc;
use std::time::Duration;

use conclave_client::BootTime;
use conclave_testkit::hosts::{self, Host, Hosts};
use conclave_testkit::servers::{self, Binaries, EtcdCluster};
use nix::sys::signal::Signal;

use super::role::Manners;
use super::{Running, World, all_at_once, pause, send};

/// What a lock is taken with: where, and for how long without an answer.
struct Taker<'a> {
    world: &'a World,
    host: Option<&'a Host>,
    /// The servers that it may ask, the first one first.
    members: Vec<usize>,
    ttl: u64,
}

impl Taker<'_> {
    fn take(&self, name: &str, who: &str, manners: Manners) -> Running {
        let script = self.world.family(name, who, manners);
        let (ttl, at) = (self.ttl.to_string(), self.world.url_at(&self.members));
        let words = ["lock", "--at", &at, "--ttl", &ttl, "--kill-after", "0.5", name, "--"];
        let words = [&words[..], &["sh", "-c", &script]].concat();
        let command = match self.host {
            Some(host) => self.world.conclave_on(host, &words),
            None => self.world.conclave(&words),
        };
        self.world.launch(command)
    }

    fn hold(&self, name: &str, who: &str, manners: Manners) -> Running {
        let running = self.take(name, who, manners);
        self.world.wait_for_family(who);
        running
    }
}

impl World {
    fn leader_or_follower(&self, is_leader: bool) -> usize {
        let leader = self.cluster.leader();
        if is_leader { leader } else { (leader + 1) % self.cluster.size() }
    }
}

/// It was lost, and that was said before, once.
fn assert_lost(holder: Running) {
    let (code, said) = holder.finish();
    assert_eq!(code, Some(75), "{said}");
    assert_eq!(said.matches("in jeopardy: no answer").count(), 1, "{said}");
    assert_eq!(said.matches("lock lost: ").count(), 1, "{said}");
}

/// Ends the holder, however deaf its family is.
fn end(world: &World, who: &str, holder: Running) {
    for what in ["pid", "child"] {
        send(world.number(who, what), Signal::SIGKILL);
    }
    let (code, said) = holder.finish();
    assert_eq!(code, Some(137), "{said}");
}

#[derive(Clone, Copy, Debug)]
enum Cut {
    BothWays,
    Sending,
    Hearing,
}

impl Cut {
    fn make(self, hosts: &Hosts, host: usize) {
        for other in (0..hosts.all().len()).filter(|other| *other != host) {
            match self {
                Self::BothWays => hosts.cut(host, other),
                Self::Sending => hosts.cut_one_way(host, other),
                Self::Hearing => hosts.cut_one_way(other, host),
            }
        }
    }
}

#[test]
fn on_a_host_that_is_cut_off_in_any_way_the_command_is_dead_before_the_next_begins_elsewhere() {
    let Some(binaries) = servers::required() else { return };
    if !hosts::required() {
        return;
    }
    // The holder's host has the leader, or a follower.
    let scenes = [(Cut::BothWays, true), (Cut::Sending, true), (Cut::Hearing, false)];
    all_at_once(scenes, |(cut, is_leader)| {
        let hosts = Hosts::new(3);
        let world = World::on(Arc::new(EtcdCluster::on_hosts(&binaries, &hosts)));
        let here = world.leader_or_follower(is_leader);
        let [one, other] = [(here + 1) % 3, (here + 2) % 3];
        let taker = |host: usize, members: &[usize]| Taker {
            world: &world,
            host: Some(&hosts[host]),
            members: members.to_vec(),
            ttl: 3,
        };
        let (name, first, second) =
            (format!("{cut:?}"), format!("{cut:?}-first"), format!("{cut:?}-second"));
        let holder = taker(here, &[here, one, other]).hold(&name, &first, Manners::Deaf);
        let next = taker(one, &[one, other, here]).take(&name, &second, Manners::Deaf);
        world.wait_for_queue(&name, 2);
        cut.make(&hosts, here);
        assert_lost(holder);
        world.wait_for_family(&second);
        world.assert_apart(&first, &second);
        hosts.heal();
        end(&world, &second, next);
        world.cluster.wait_healthy();
    });
}

/// What is to be expected when a server is itself again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// Whoever holds a lock keeps it.
    AllIsWell,
    /// A lock may be taken away before its time. Whoever held it is told.
    MayBeTakenAway,
}

/// Whether a leader that was stopped and goes on ends sessions that its successor has renewed: a
/// mistake of etcd that was mended in 3.4.31 and 3.5.13. Two may run at
/// once then, and no client can do anything about it.
fn deposed_leaders_take_away(binaries: &Binaries) -> bool {
    let output = std::process::Command::new(&binaries.etcd).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let version = text.lines().find_map(|line| line.strip_prefix("etcd Version: ")).unwrap();
    let number = |text: &str| text.parse::<u32>().unwrap_or_default();
    let numbers: Vec<u32> = version.split(['.', '-']).map(number).collect();
    numbers < vec![3, 4, 31] || (numbers >= vec![3, 5, 0] && numbers < vec![3, 5, 13])
}

fn assert_kept_or_told(mut holder: Running) {
    let said = holder.said();
    match holder.child.try_wait().unwrap() {
        None => assert!(!said.contains("lost"), "{said}"),
        Some(status) => {
            assert_eq!(status.code(), Some(75), "{said}");
            assert!(said.contains("lock lost: it was taken away by force"), "{said}");
        }
    }
}

/// Two hold a lock by a server to which `harm` is then done: one knows only that server and loses
/// its lock in time; the other one knows all and keeps it, also when the harm is over.
fn lose_or_move(
    world: &World,
    client: Option<&Host>,
    server: usize,
    harm: impl FnOnce(),
    heal: impl FnOnce(),
    after: After,
) {
    let others = [(server + 1) % 3, (server + 2) % 3];
    let all = [server, others[0], others[1]];
    let taker = |members: &[usize], ttl| {
        let members = members.to_vec();
        Taker { world, host: client, members, ttl }
    };
    let name = |what: &str| format!("{what}-{server}");
    let (lost, kept) = (name("lost"), name("kept"));
    let [lost_first, lost_second] = ["lost-first", "lost-second"].map(name);
    let [kept_first, kept_second] = ["kept-first", "kept-second"].map(name);
    let loser = taker(&[server], 3).hold(&lost, &lost_first, Manners::Deaf);
    let keeper = taker(&all, 5).hold(&kept, &kept_first, Manners::Deaf);
    // Time enough for an election when the harm is done, and for another when it is over.
    let next_of_loser = taker(&others, 8).take(&lost, &lost_second, Manners::Deaf);
    let next_of_keeper = taker(&others, 5).take(&kept, &kept_second, Manners::Deaf);
    world.wait_for_queue(&lost, 2);
    world.wait_for_queue(&kept, 2);
    harm();
    let harmed = BootTime::now();
    assert_lost(loser);
    world.wait_for_family(&lost_second);
    world.assert_apart(&lost_first, &lost_second);
    // Longer than the keeper's time to live: it has found another server.
    std::thread::sleep(harmed.plus(Duration::from_secs(6)).left());
    heal();
    world.cluster.wait_healthy();
    if after == After::MayBeTakenAway {
        pause(1.0);
        assert_kept_or_told(next_of_loser);
        assert_kept_or_told(keeper);
        return;
    }
    end(world, &lost_second, next_of_loser);
    assert_eq!(world.read(&format!("{kept_second}.stamps")), "", "{}", keeper.said());
    assert!(!keeper.said().contains("lost"), "{}", keeper.said());
    end(world, &kept_first, keeper);
    world.wait_for_family(&kept_second);
    world.assert_apart(&kept_first, &kept_second);
    end(world, &kept_second, next_of_keeper);
}

#[test]
fn who_talks_to_a_server_that_is_cut_from_its_peers_moves_to_another_or_ends_in_time() {
    let Some(binaries) = servers::required() else { return };
    if !hosts::required() {
        return;
    }
    all_at_once([false, true], |is_leader| {
        // The clients have a host of their own, which reaches all.
        let hosts = Hosts::new(4);
        let cluster = EtcdCluster::options().start_on(&binaries, &hosts.all()[..3]);
        let world = World::on(Arc::new(cluster));
        let server = world.leader_or_follower(is_leader);
        let cut = || {
            hosts.cut(server, (server + 1) % 3);
            hosts.cut(server, (server + 2) % 3);
        };
        lose_or_move(&world, Some(&hosts[3]), server, cut, || hosts.heal(), After::AllIsWell);
    });
}

#[test]
fn who_talks_to_a_server_that_is_stopped_moves_to_another_or_ends_in_time() {
    let Some(binaries) = servers::required() else { return };
    all_at_once([false, true], |is_leader| {
        let world = World::on(Arc::new(EtcdCluster::start(&binaries, 3)));
        let server = world.leader_or_follower(is_leader);
        let (stop, go_on) = (|| world.cluster.pause(server), || world.cluster.resume(server));
        let deposes = is_leader && deposed_leaders_take_away(&binaries);
        let after = if deposes { After::MayBeTakenAway } else { After::AllIsWell };
        lose_or_move(&world, None, server, stop, go_on, after);
    });
}

#[test]
fn without_any_server_the_command_is_dead_when_its_time_to_live_is_over() {
    let Some(binaries) = servers::required() else { return };
    let world = World::on(Arc::new(EtcdCluster::start(&binaries, 3)));
    let taker = Taker { world: &world, host: None, members: vec![0, 1, 2], ttl: 3 };
    let mut last: Option<String> = None;
    for round in ["killed", "stopped"] {
        let holder = taker.hold("x", round, Manners::Deaf);
        if let Some(last) = last {
            world.assert_apart(&last, round);
        }
        match round {
            "killed" => world.cluster.kill_all(),
            _ => (0..3).for_each(|member| world.cluster.pause(member)),
        }
        let end = BootTime::now().plus(Duration::from_secs(3));
        assert_lost(holder);
        let seen = world.stamps(round).pop().unwrap();
        assert!(seen < end, "{seen:?} {end:?}");
        std::thread::sleep(end.plus(Duration::from_secs(1)).left());
        match round {
            "killed" => world.cluster.restart_all(),
            _ => (0..3).for_each(|member| world.cluster.resume(member)),
        }
        world.cluster.wait_healthy();
        last = Some(round.to_owned());
    }
    let after = taker.hold("x", "after", Manners::Polite);
    world.assert_apart("stopped", "after");
    end(&world, "after", after);
}

/// As in the example `cron.sh`, but each cron is on a host of its own.
#[test]
fn of_the_crons_of_three_hosts_one_runs_the_job_in_each_period_though_a_host_is_down() {
    let Some(binaries) = servers::required() else { return };
    if !hosts::required() {
        return;
    }
    let hosts = Hosts::new(3);
    let world = World::on(Arc::new(EtcdCluster::on_hosts(&binaries, &hosts)));
    let cron = |host: usize| {
        let label = format!("cron-{host}");
        let job = format!("sleep 0.2; echo {label} >>runs");
        let words = ["lock", "--once", "6", "--ttl", "5", "--connect-timeout", "1"];
        let words = [&words[..], &["--label", &label, "nightly", "--", "sh", "-c", &job]].concat();
        world.launch(world.conclave_on(&hosts[host], &words))
    };
    let runs = || world.read("runs").lines().count();
    let down = 2;
    world.cluster.kill(down);
    hosts.isolate(down);
    for period in 1..=2 {
        let mut over = Vec::new();
        for attempt in 0..2 {
            let crons = [0, 1, down].map(cron);
            let [one, other, cut_off] = crons.map(Running::finish);
            assert_eq!((one.0, other.0), (Some(0), Some(0)), "{one:?} {other:?}");
            assert_eq!(cut_off.0, Some(69), "{cut_off:?}");
            assert_eq!(runs(), period, "attempt {attempt}: {one:?} {other:?}");
            let content = one.1.clone() + &other.1;
            let told = content.matches("nightly: already run by cron-").count();
            assert_eq!(told, 1 + attempt, "{content}");
            over.push(BootTime::now());
        }
        // The period counts from the start of the run, which was in the first attempt.
        std::thread::sleep(over[0].plus(Duration::from_secs(6)).left());
    }
    hosts.heal();
    world.cluster.restart(down);
    world.cluster.wait_healthy();
    let (code, said) = cron(down).finish();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(runs(), 3, "a period has gone by, and it is up again: {said}");
    let runs = world.read("runs");
    assert!(runs.lines().take(2).all(|it| it != "cron-2"), "{runs}");
}
