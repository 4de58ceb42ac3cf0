//! The state file, byte by byte. All numbers are little-endian.
//!
//! | offset | bytes | what | written |
//! | --- | --- | --- | --- |
//! | 0 | 512 | [`Header`]: whose state this is, and a fence that nobody has been given yet | once per 1,024 grants, and synced |
//! | 1024 | 1536 | [`Record`] | alternately with the next, so that one is always whole |
//! | 2560 | 1536 | [`Record`] | |
//! | 4096 | 256 | [`Summary`]: counters | with every grant |
//! | 4352 | 256 each | [`QueueEntry`]: one who holds or waits | with every change of it |
//!
//! Nothing that is written at once crosses a page, so that a killed process leaves it old or new.
//! Only the header and a lock's records must survive a loss of power, and each lies in as few
//! sectors as it can; the rest is void after a restart, which the boot id shows.

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use super::processes::Started;
use crate::{Fence, Kind, LABEL_MAX, Mode, Name, Owner, Resource, VALUE_MAX};

/// A new file is this long, so that its first pages are allocated once and for all.
pub const INITIAL_SIZE: usize = 8192;

const MAGIC: [u8; 8] = *b"conclave";
const VERSION: u32 = 1;

/// More than will ever be given out.
const TICKET_MAX: u64 = 1 << 59;

/// Fences fit into the signed 64-bit numbers that databases have.
pub const FENCE_MAX: u64 = i64::MAX as u64;

/// Identifies one run of the kernel.
pub type BootId = [u8; 16];

/// Why bytes are not what they should be.
pub type Damage = &'static str;

/// The part that is synced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Whose state this is.
    pub resource: Resource,
    /// No fence above this one has been given out.
    pub bound: Fence,
}

impl Header {
    pub const SIZE: usize = 512;

    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut block = [0; Self::SIZE];
        let name = self.resource.name.as_str().as_bytes();
        block[..8].copy_from_slice(&MAGIC);
        put_u32(&mut block, 8, VERSION);
        block[12] = match self.resource.kind {
            Kind::Lock => 1,
            Kind::Election => 2,
        };
        block[13] = u8::try_from(name.len()).expect("a name has at most 255 bytes");
        put_u64(&mut block, 16, self.bound.0);
        block[24..24 + name.len()].copy_from_slice(name);
        seal(&mut block);
        block
    }

    pub fn decode(block: &[u8; Self::SIZE]) -> Result<Self, Damage> {
        if block[..8] != MAGIC {
            return Err("it is not a state file of conclave");
        }
        if get_u32(block, 8) != VERSION {
            return Err("it was written by another version of conclave");
        }
        check(block).map_err(|()| "its header is damaged")?;
        let kind = match block[12] {
            1 => Kind::Lock,
            2 => Kind::Election,
            _ => return Err("its header is damaged"),
        };
        let name = block[24..].get(..usize::from(block[13])).unwrap_or_default();
        let name = std::str::from_utf8(name).ok().and_then(|name| Name::new(name).ok());
        let name = name.ok_or("its header is damaged")?;
        Ok(Self { resource: Resource { kind, name }, bound: Fence(get_u64(block, 16)) })
    }
}

/// A value that a holder wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Of the two records, the one with the higher number counts.
    pub number: u64,
    /// Of whoever wrote it.
    pub fence: Fence,
    /// What was written.
    pub bytes: Vec<u8>,
}

impl Record {
    pub const SIZE: usize = 1536;
    const BYTES: usize = 32;

    /// Where record `number` goes.
    pub fn offset(number: u64) -> u64 {
        1024 + (number % 2) * Self::SIZE as u64
    }

    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut block = [0; Self::SIZE];
        put_u64(&mut block, 0, self.number);
        put_u64(&mut block, 8, self.fence.0);
        let length = u32::try_from(self.bytes.len()).expect("a value is short");
        put_u32(&mut block, 16, length);
        block[Self::BYTES..Self::BYTES + self.bytes.len()].copy_from_slice(&self.bytes);
        seal(&mut block);
        block
    }

    /// `None` if nothing was ever written there.
    pub fn decode(block: &[u8; Self::SIZE]) -> Result<Option<Self>, Damage> {
        if block.iter().all(|it| *it == 0) {
            return Ok(None);
        }
        check(block).map_err(|()| "its value is damaged")?;
        let length = get_u32(block, 16) as usize;
        if length > VALUE_MAX {
            return Err("its value is damaged");
        }
        Ok(Some(Self {
            number: get_u64(block, 0),
            fence: Fence(get_u64(block, 8)),
            bytes: block[Self::BYTES..Self::BYTES + length].to_vec(),
        }))
    }
}

/// The counters of a lock, which only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// The run of the kernel in which all this was written.
    pub boot: BootId,
    /// The last ticket that was given out.
    pub last_ticket: u64,
    /// The last fence that was given out.
    pub last_fence: u64,
    /// Fences up to this one may be given out without another sync.
    pub bound: u64,
    /// How many entries there are, some of them dead.
    pub entries: u32,
    /// Grows with every change.
    pub version: u64,
    /// The fence of the leader that last resigned, or zero.
    pub resigned: u64,
}

impl Summary {
    pub const SIZE: usize = 256;
    pub const OFFSET: u64 = 4096;

    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut block = [0; Self::SIZE];
        block[..16].copy_from_slice(&self.boot);
        put_u64(&mut block, 16, self.last_ticket);
        put_u64(&mut block, 24, self.last_fence);
        put_u64(&mut block, 32, self.bound);
        put_u32(&mut block, 40, self.entries);
        put_u64(&mut block, 48, self.version);
        put_u64(&mut block, 56, self.resigned);
        seal(&mut block);
        block
    }

    pub fn decode(block: &[u8; Self::SIZE]) -> Result<Self, Damage> {
        check(block).map_err(|()| "its counters are damaged")?;
        let mut boot = BootId::default();
        boot.copy_from_slice(&block[..16]);
        let summary = Self {
            boot,
            last_ticket: get_u64(block, 16),
            last_fence: get_u64(block, 24),
            bound: get_u64(block, 32),
            entries: get_u32(block, 40),
            version: get_u64(block, 48),
            resigned: get_u64(block, 56),
        };
        let is_sane = summary.last_ticket < TICKET_MAX
            && summary.last_fence <= summary.bound
            && summary.bound <= FENCE_MAX;
        if is_sane { Ok(summary) } else { Err("its counters are damaged") }
    }
}

/// Who asks for a ticket.
#[derive(Clone, Copy)]
pub struct Applicant<'a> {
    pub label: &'a str,
    pub host: &'a str,
    pub process: Started,
    pub since: SystemTime,
}

/// One who holds or waits. Kept as it lies in the file: most are looked at only for their ticket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct QueueEntry([u8; QueueEntry::SIZE]);

impl QueueEntry {
    pub const SIZE: usize = 256;
    const LABEL: usize = 48;
    const HOST: usize = Self::LABEL + LABEL_MAX;
    const HOST_MAX: usize = 64;

    /// Where entry `index` lies.
    pub fn offset(index: usize) -> u64 {
        Summary::OFFSET + (Summary::SIZE + index * Self::SIZE) as u64
    }

    /// A new ticket. `fence` is zero while it waits.
    pub fn new(ticket: u64, fence: u64, mode: Mode, owner: &Applicant<'_>) -> Self {
        let mut block = [0; Self::SIZE];
        put_u64(&mut block, 0, ticket);
        put_u32(&mut block, 24, owner.process.pid);
        put_u64(&mut block, 40, owner.process.at);
        let (kind, slots) = match mode {
            Mode::Exclusive => (1, 0),
            Mode::Shared => (2, 0),
            Mode::Slot { of } => (3, of.get()),
        };
        block[28] = kind;
        put_u32(&mut block, 32, slots);
        let label = shorten(owner.label, LABEL_MAX);
        let host = shorten(owner.host, Self::HOST_MAX);
        block[30] = u8::try_from(label.len()).expect("a label has at most 128 bytes");
        block[31] = u8::try_from(host.len()).expect("a host has at most 64 bytes here");
        block[Self::LABEL..Self::LABEL + label.len()].copy_from_slice(label.as_bytes());
        block[Self::HOST..Self::HOST + host.len()].copy_from_slice(host.as_bytes());
        let mut entry = Self(block);
        entry.grant(fence, owner.since);
        entry
    }

    /// Marks the ticket as granted with this fence, at this time.
    pub fn grant(&mut self, fence: u64, since: SystemTime) {
        put_u64(&mut self.0, 8, fence);
        let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        put_u64(&mut self.0, 16, u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        seal(&mut self.0);
    }

    /// Marks the ticket as taken away by force.
    pub fn revoke(&mut self) {
        self.0[29] = 1;
        seal(&mut self.0);
    }

    pub fn encode(&self) -> &[u8; Self::SIZE] {
        &self.0
    }

    /// `None` if nobody was ever there.
    pub fn decode(block: &[u8; Self::SIZE]) -> Result<Option<Self>, Damage> {
        Self::check(block)?;
        Ok(Self::copy(block))
    }

    /// Whether it is what it should be.
    pub fn check(block: &[u8; Self::SIZE]) -> Result<(), Damage> {
        const DAMAGED: Damage = "an entry of its queue is damaged";
        let ticket = get_u64(block, 0);
        if ticket == 0 {
            return if block.iter().all(|it| *it == 0) { Ok(()) } else { Err(DAMAGED) };
        }
        check(block).map_err(|()| DAMAGED)?;
        let is_sane = (1..=3).contains(&block[28]) && ticket <= TICKET_MAX;
        if is_sane { Ok(()) } else { Err(DAMAGED) }
    }

    /// Of a block that was checked. `None` if nobody was ever there.
    pub fn copy(block: &[u8; Self::SIZE]) -> Option<Self> {
        (get_u64(block, 0) != 0).then_some(Self(*block))
    }

    pub fn ticket(&self) -> u64 {
        get_u64(&self.0, 0)
    }

    /// Its fence, if it holds.
    pub fn fence(&self) -> Option<Fence> {
        fence(&self.0)
    }

    /// The process that asked.
    pub fn process(&self) -> Started {
        Started { pid: get_u32(&self.0, 24), at: get_u64(&self.0, 40) }
    }

    pub fn is_revoked(&self) -> bool {
        self.0[29] != 0
    }

    pub fn mode(&self) -> Mode {
        mode(&self.0)
    }

    pub fn owner(&self) -> Owner {
        let text = |start: usize, length: u8| {
            let bytes = self.0.get(start..start + usize::from(length)).unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        Owner {
            label: text(Self::LABEL, self.0[30]),
            host: text(Self::HOST, self.0[31]),
            pid: get_u32(&self.0, 24),
            since: SystemTime::UNIX_EPOCH + Duration::from_nanos(get_u64(&self.0, 16)),
        }
    }
}

/// What matters of an entry, mostly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glance {
    pub ticket: u64,
    /// Its fence, if it holds.
    pub fence: Option<Fence>,
    pub mode: Mode,
    pub is_revoked: bool,
}

impl Glance {
    /// At a block that was checked. `None` if nobody was ever there.
    pub fn at(block: &[u8; QueueEntry::SIZE]) -> Option<Self> {
        let ticket = get_u64(block, 0);
        let (fence, is_revoked) = (fence(block), block[29] != 0);
        (ticket != 0).then(|| Self { ticket, fence, mode: mode(block), is_revoked })
    }
}

fn fence(block: &[u8; QueueEntry::SIZE]) -> Option<Fence> {
    Some(Fence(get_u64(block, 8))).filter(|fence| fence.0 != 0)
}

fn mode(block: &[u8; QueueEntry::SIZE]) -> Mode {
    match block[28] {
        1 => Mode::Exclusive,
        2 => Mode::Shared,
        _ => Mode::Slot { of: NonZeroU32::new(get_u32(block, 32)).unwrap_or(NonZeroU32::MIN) },
    }
}

/// The last four bytes of a block are its checksum.
fn seal(block: &mut [u8]) {
    let end = block.len() - 4;
    let sum = crc32fast::hash(&block[..end]);
    put_u32(block, end, sum);
}

fn check(block: &[u8]) -> Result<(), ()> {
    let end = block.len() - 4;
    if get_u32(block, end) == crc32fast::hash(&block[..end]) { Ok(()) } else { Err(()) }
}

/// The longest beginning of `text` that fits, in whole characters.
fn shorten(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

fn put_u64(block: &mut [u8], at: usize, value: u64) {
    block[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn put_u32(block: &mut [u8], at: usize, value: u32) {
    block[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn get_u64(block: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[at..at + 8]);
    u64::from_le_bytes(bytes)
}

fn get_u32(block: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&block[at..at + 4]);
    u32::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: &str = "a label of some length, with an é in it";

    fn applicant() -> Applicant<'static> {
        let since = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
        Applicant { label: LABEL, host: "host", process: Started { pid: 4711, at: 12 }, since }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let name = Name::new("é".repeat(127)).unwrap();
        let header = Header { resource: Resource::election(name), bound: Fence(u64::MAX) };
        assert_eq!(Header::decode(&header.encode()), Ok(header));

        let record = Record { number: 7, fence: Fence(3), bytes: vec![9; VALUE_MAX] };
        assert_eq!(Record::decode(&record.encode()), Ok(Some(record)));
        assert_eq!(Record::decode(&[0; Record::SIZE]), Ok(None));

        let summary = Summary {
            boot: [7; 16],
            last_ticket: 1,
            last_fence: 2,
            bound: 3,
            entries: 4,
            version: 5,
            resigned: 6,
        };
        assert_eq!(Summary::decode(&summary.encode()), Ok(summary));

        for mode in [Mode::Exclusive, Mode::Shared, Mode::Slot { of: NonZeroU32::MAX }] {
            let entry = QueueEntry::new(5, 0, mode, &applicant());
            let mut read = QueueEntry::decode(entry.encode()).unwrap().unwrap();
            assert_eq!((read.ticket(), read.fence(), read.mode()), (5, None, mode));
            let (label, host, since) = (LABEL.into(), "host".into(), applicant().since);
            assert_eq!(read.owner(), Owner { label, host, pid: 4711, since });
            assert_eq!(read.process(), applicant().process);
            read.grant(8, since);
            read.revoke();
            let read = QueueEntry::decode(read.encode()).unwrap().unwrap();
            assert_eq!((read.fence(), read.is_revoked()), (Some(Fence(8)), true));
        }
        assert!(QueueEntry::decode(&[0; QueueEntry::SIZE]).unwrap().is_none());
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let resource = Resource::lock(Name::new("x").unwrap());
        let header = Header { resource, bound: Fence(1024) }.encode();
        let summary = Summary::default().encode();
        let entry = *QueueEntry::new(1, 1, Mode::Exclusive, &applicant()).encode();
        let record = Record { number: 1, fence: Fence(1), bytes: b"v".to_vec() }.encode();
        let each_bit = |length: usize| (0..length * 8).map(|bit| (bit / 8, 1 << (bit % 8)));
        for (at, bit) in each_bit(Header::SIZE) {
            let mut block = header;
            block[at] ^= bit;
            assert!(Header::decode(&block).is_err(), "byte {at}");
        }
        for (at, bit) in each_bit(Summary::SIZE) {
            let (mut one, mut other) = (summary, entry);
            one[at] ^= bit;
            other[at] ^= bit;
            assert!(
                Summary::decode(&one).is_err() && QueueEntry::decode(&other).is_err(),
                "byte {at}"
            );
        }
        for (at, bit) in each_bit(Record::SIZE) {
            let mut block = record;
            block[at] ^= bit;
            assert!(Record::decode(&block).is_err(), "byte {at}");
        }
    }
}
