"""A network of this process's own, so that the ports under check are free and nothing outside can reach them."""
import ctypes
import fcntl
import socket
import struct

CLONE_NEWNET = 0x40000000
SIOCSIFADDR, SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8916, 0x8913, 0x8914
IFF_UP = 1
# Not a loopback one: a server sees its clients come from elsewhere.
ADDRESS = "172.17.0.2"


def _set_address(control, device, address):
    family = struct.pack("=H2x4s8x", socket.AF_INET, socket.inet_aton(address))
    fcntl.ioctl(control, SIOCSIFADDR, struct.pack("16s16s8x", device, family))


def _bring_up(control, device):
    flags = struct.unpack("16sH22x", fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16s24x", device)))[1]
    fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", device, flags | IFF_UP))


def leave_the_machines_network():
    """From here on this process and its children reach only each other, at 127.0.0.1 and ADDRESS."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "a network namespace can't be made; run this as root")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        _bring_up(control, b"lo")
        _set_address(control, b"lo:1", ADDRESS)
