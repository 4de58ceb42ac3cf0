//! Ports on loopback that stay ours while a server is down.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range from which the kernel takes ports for outgoing connections: nobody gets one of
/// these by chance.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A TCP port on loopback, claimed for as long as this lives.
///
/// The claim is the UDP port of the same number. It goes with the process, however that ends, and
/// other test processes see it.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) number: u16,
    _claim: UdpSocket,
}

impl Port {
    /// One that nobody uses.
    ///
    /// # Panics
    ///
    /// If all are in use.
    pub(crate) fn claim() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        // Processes start at different places, so that they rarely meet.
        let offset = u16::try_from(std::process::id() * 37 % u32::from(COUNT)).unwrap_or(0);
        (0..COUNT)
            .find_map(|_| {
                let step = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
                Self::try_claim(FIRST + (offset + step) % COUNT)
            })
            .expect("one of thousands of ports is free")
    }

    fn try_claim(number: u16) -> Option<Self> {
        let claim = UdpSocket::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        Some(Self { number, _claim: claim })
    }
}
