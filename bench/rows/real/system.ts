import type { RealListing } from './case.ts';

/** Starts children that sleep; the shell of the listing ends them. */
const CHILDREN = `cat > children.py <<'PY'
import os, signal, subprocess, sys, time
n, columns = int(sys.argv[1]), sys.argv[2]
pids = []
for i in range(n):
    pid = os.fork()
    if pid == 0:
        if i == 40 and len(sys.argv) > 3: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        if i == 17 and len(sys.argv) < 4: os._exit(1)
        os.execvp('sleep', ['sleep', '300'])
    pids.append(pid)
time.sleep(0.7)
if len(sys.argv) < 4: os.kill(pids[60], signal.SIGSTOP)
time.sleep(0.3)
subprocess.run(['ps', '-o', columns, '--ppid', str(os.getpid())])
for pid in pids:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
PY`;

/** Listings of the machine: files, processes, mounts, sockets. */
export const systemListings: readonly RealListing[] = [
  {
    name: 'systemctl-unit-files',
    held: false,
    needs: ['systemctl'],
    prepare: `d=r/etc/systemd/system; mkdir -p $d/multi-user.target.wants
for i in $(upto 110); do printf '[Service]\\nExecStart=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n' > $d/\${N[$i]}.service; ln -s ../\${N[$i]}.service $d/multi-user.target.wants/; done
rm $d/multi-user.target.wants/\${N[30]}.service $d/\${N[60]}.service $d/multi-user.target.wants/\${N[60]}.service; ln -s /dev/null $d/\${N[60]}.service`,
    command: 'systemctl list-unit-files --type=service',
    run: 'SYSTEMD_COLORS=0 systemctl --root=$PWD/r list-unit-files --type=service --no-pager',
    goal: 'What does not start with the machine?',
    needed: /-(?:30|60)\.service/,
    count: 2,
  },
  {
    name: 'df-full',
    held: false,
    needs: ['unshare', 'df'],
    prepare: `cat > m.sh <<'SH'
for i in $(seq 1 70); do mkdir -p v/$i; mount -t tmpfs -o size=1m vol-$i v/$i; head -c $((i*2000)) /dev/zero > v/$i/x; done
head -c 2000000 /dev/zero > v/44/full 2>/dev/null
df -h -t tmpfs | grep -v '^tmpfs'
SH`,
    command: 'df -h -t tmpfs',
    run: 'unshare -m bash m.sh',
    goal: 'Can we deploy?',
    needed: /100%/,
    count: 1,
  },
  {
    name: 'df-inodes',
    held: true,
    needs: ['unshare', 'df'],
    prepare: `cat > m.sh <<'SH'
for i in $(seq 1 70); do mkdir -p v/$i; mount -t tmpfs -o size=1m,nr_inodes=40 vol-$i v/$i; for k in 1 2 3 4 5; do echo > v/$i/$k; done; done
for k in $(seq 6 60); do echo > v/51/$k; done 2>/dev/null
df -i -t tmpfs | grep -v '^tmpfs'
SH`,
    command: 'df -i -t tmpfs',
    run: 'unshare -m bash m.sh',
    goal: 'Why can no file be created?',
    needed: /100%/,
    count: 1,
  },
  {
    name: 'findmnt-readonly',
    held: true,
    needs: ['unshare', 'findmnt'],
    prepare: `cat > m.sh <<'SH'
for i in $(seq 1 70); do mkdir -p v/$i; mount -t tmpfs -o size=1m vol-$i v/$i; done
mount -o remount,ro v/23
findmnt -l -t tmpfs -o TARGET,SOURCE,FSTYPE,VFS-OPTIONS | grep -E 'TARGET|vol-'
SH`,
    command: 'findmnt -l -t tmpfs -o TARGET,SOURCE,FSTYPE,VFS-OPTIONS',
    run: 'unshare -m bash m.sh',
    goal: 'Why can it not write?',
    needed: /\bro\b/,
    count: 1,
  },
  {
    name: 'ps-states',
    held: false,
    needs: ['python3', 'ps'],
    prepare: CHILDREN,
    command: 'ps -o pid,ppid,stat,etime,args',
    run: 'python3 children.py 90 pid,ppid,stat,etime,args',
    goal: 'Is anything hanging?',
    needed: /defunct|\sT\s/,
    count: 2,
  },
  {
    name: 'ps-class',
    held: true,
    needs: ['python3', 'ps'],
    prepare: CHILDREN,
    command: 'ps -o pid,cls,rtprio,ni,stat,comm',
    run: 'python3 children.py 90 pid,cls,rtprio,ni,stat,comm idle',
    goal: 'Why is one worker slow?',
    needed: /IDL/,
    count: 1,
  },
  {
    name: 'ls-modes',
    held: false,
    needs: ['ls'],
    prepare: `mkdir d; for i in $(upto 150); do echo \${N[$i]} > d/\${N[$i]}.conf; done; chown nobody d/\${N[40]}.conf; chmod 0 d/\${N[101]}.conf`,
    command: 'ls -l d',
    goal: 'Why can the service not read its settings?',
    needed: /nobody|^----------/,
    count: 2,
  },
  {
    name: 'stat-groups',
    held: true,
    needs: ['stat'],
    prepare: `mkdir d; for i in $(upto 150); do echo \${N[$i]} > d/\${N[$i]}.key; done; chgrp games d/\${N[88]}.key; chmod 666 d/\${N[21]}.key`,
    command: "stat -c '%A %U %G %s %n' d/*",
    goal: 'Are the permissions right?',
    needed: /games|rw-rw-rw-/,
    count: 2,
  },
  {
    name: 'find-types',
    held: true,
    needs: ['find'],
    prepare: `mkdir d; for i in $(upto 160); do echo \${N[$i]} > d/\${N[$i]}.sock; done; ln -s /nowhere d/latest.sock; mkfifo d/control.sock`,
    command: "find d -type f,l,p -printf '%y %M %u %p\\n'",
    goal: 'Why does the copy hang?',
    needed: /latest|control/,
    count: 2,
  },
  {
    name: 'file-types',
    held: false,
    needs: ['file', 'python3'],
    prepare: `mkdir d; python3 - <<'PY'
import struct, zlib
def chunk(t, d): return struct.pack('>I', len(d)) + t + d + struct.pack('>I', zlib.crc32(t + d))
png = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 32, 32, 8, 2, 0, 0, 0)) + chunk(b'IEND', b'')
for i in range(140): open('d/tile-%d.png' % i, 'wb').write(png)
open('d/tile-77.png', 'w').write('<!DOCTYPE html><html><body>404 Not Found</body></html>')
PY`,
    command: 'file d/*.png',
    goal: 'Why do some tiles not show?',
    needed: /HTML/,
    count: 1,
  },
  {
    name: 'file-encodings',
    held: true,
    needs: ['file', 'python3'],
    prepare: `mkdir d; for i in $(upto 140); do echo \${N[$i]} > d/\${N[$i]}.txt; done; printf 'caf\\351 au lait\\n' > d/\${N[31]}.txt; python3 -c "open('d/menu.txt','w',encoding='utf-16').write('caf\\u00e9 au lait')"`,
    command: 'file --mime-encoding d/*',
    goal: 'Why is the text garbled?',
    needed: /iso-8859|utf-16/,
    count: 2,
  },
  {
    name: 'ldd-missing',
    held: false,
    needs: ['gcc', 'ldd'],
    prepare: `for i in $(upto 45); do echo "int f$i(void){return $i;}" > l.c; gcc -shared -fPIC -o lib\${N[$i]}.so l.c; done
{ for i in $(upto 45); do echo "int f$i(void);"; done; echo 'int main(void){return 0'; for i in $(upto 45); do echo "+f$i()"; done; echo ';}'; } > m.c
gcc m.c -o app -L. -Wl,-rpath,$PWD $(for i in $(upto 45); do echo -l\${N[$i]}; done); rm lib\${N[20]}.so`,
    command: 'ldd ./app',
    goal: 'Why does it not start?',
    needed: /not found/,
    count: 1,
  },
  {
    name: 'sha256-check',
    held: false,
    needs: ['sha256sum'],
    prepare: `mkdir d; for i in $(upto 150); do echo \${N[$i]} > d/\${N[$i]}.tar; done; sha256sum d/* > sums; echo x >> d/\${N[84]}.tar`,
    command: 'sha256sum -c sums',
    goal: 'Is the release complete?',
    needed: /FAILED|WARNING/,
    count: 2,
  },
  {
    name: 'md5-check',
    held: true,
    needs: ['md5sum'],
    prepare: `mkdir d; for i in $(upto 170); do echo \${N[$i]} > d/\${N[$i]}.deb; done; md5sum d/* > sums; rm d/\${N[84]}.deb`,
    command: 'md5sum --check sums',
    goal: 'Is the mirror complete?',
    needed: /No such file|FAILED|WARNING/,
    count: 3,
  },
  {
    name: 'unzip-test',
    held: false,
    needs: ['zip', 'unzip', 'python3'],
    prepare: `mkdir d; for i in $(upto 120); do echo \${N[$i]} > d/\${N[$i]}.xml; done; zip -q -0 -r a.zip d
python3 - <<'PY'
b = open('a.zip', 'rb').read()
at = b.index(b'-55\\n')
open('a.zip', 'wb').write(b[:at] + b'-56' + b[at + 3:])
PY`,
    command: 'unzip -t a.zip',
    goal: 'Is the archive all right?',
    needed: /bad CRC|At least one error/,
    count: 2,
  },
  {
    name: 'zipinfo-methods',
    held: true,
    needs: ['zip', 'unzip'],
    prepare: `mkdir d; for i in $(upto 120); do for k in 1 2 3 4 5 6; do echo \${N[$i]}; done > d/\${N[$i]}.xml; done; zip -q -r a.zip d/*; head -c 300 /dev/urandom > d/raw.xml; zip -q -0 a.zip d/raw.xml`,
    command: 'unzip -Z a.zip',
    goal: 'Which entry is not compressed?',
    needed: /\bstor\b/,
    count: 1,
  },
  {
    name: 'diff-folders',
    held: false,
    needs: ['diff'],
    prepare: `mkdir a b; for i in $(upto 120); do echo \${N[$i]} > a/\${N[$i]}; echo $i > b/\${N[$i]}; done; rm b/\${N[60]}; echo > b/extra`,
    command: 'diff -rq a b',
    goal: 'Compare the two releases',
    needed: /^Only in/,
    count: 2,
  },
  {
    name: 'diff-identical',
    held: true,
    needs: ['diff'],
    prepare: `mkdir a b; for i in $(upto 120); do echo \${N[$i]} > a/\${N[$i]}; echo \${N[$i]} > b/\${N[$i]}; done; echo >> b/\${N[60]}`,
    command: 'diff -rqs a b',
    goal: 'Compare the two releases',
    needed: / differ$/,
    count: 1,
  },
  {
    name: 'openssl-verify',
    held: false,
    needs: ['openssl'],
    prepare: `ca() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $1.key -out $1.crt -subj /CN=$1 -days 30; }
ca root; ca other; openssl ecparam -name prime256v1 -genkey -noout -out k.key; mkdir d
for i in $(upto 90); do by=root; [ $i = 33 ] && by=other; openssl req -new -key k.key -subj /CN=\${N[$i]} | openssl x509 -req -CA $by.crt -CAkey $by.key -CAcreateserial -days 9 -out d/\${N[$i]}.pem; done`,
    command: 'for c in d/*.pem; do openssl verify -CAfile root.crt $c; done',
    goal: 'Are the certificates all right?',
    needed: /^error |verification failed/,
    count: 2,
  },
  {
    name: 'ss-sockets',
    held: false,
    needs: ['unshare', 'ss', 'ip', 'python3'],
    prepare: `cat > s.py <<'PY'
import socket, subprocess, time
keep = []
for port in range(3000, 3080):
    s = socket.socket(); s.bind(('127.0.0.1', port)); s.listen(); keep.append(s)
c = socket.create_connection(('127.0.0.1', 3044)); a, _ = keep[44].accept(); keep.append(a); c.close(); time.sleep(0.2)
subprocess.run(['ss', '-tan'])
PY`,
    command: 'ss -tan',
    run: "unshare -n bash -c 'ip link set lo up; python3 s.py'",
    goal: 'Why does the port leak?',
    needed: /CLOSE-WAIT|FIN-WAIT/,
    count: 2,
  },
  {
    name: 'lsof-deleted',
    held: true,
    needs: ['lsof', 'python3'],
    prepare: `mkdir d; cat > o.py <<'PY'
import os, subprocess
keep = [open('d/segment-%03d.log' % i, 'w') for i in range(110)]
os.unlink('d/segment-061.log')
subprocess.run(['lsof', '-n', '-P', '-p', str(os.getpid())], stderr=subprocess.DEVNULL)
PY`,
    command: 'lsof -n -P -p 4711',
    run: 'python3 o.py',
    goal: 'Why is the disk still full?',
    needed: /\(deleted\)/,
    count: 1,
  },
  {
    name: 'ip-links',
    held: true,
    needs: ['unshare', 'ip'],
    prepare: `cat > n.sh <<'SH'
for i in $(seq 1 60); do ip link add web$i type veth peer name peer$i; ip link set web$i up; ip link set peer$i up; done
ip link set peer37 down
ip -br link
SH`,
    command: 'ip -br link',
    run: 'unshare -n bash n.sh',
    goal: 'Which link is broken?',
    needed: /(?:web|peer)37@/,
    count: 2,
  },
  {
    name: 'java-flags',
    held: false,
    needs: ['java'],
    command: 'java -XX:+PrintFlagsFinal -version',
    run: 'java -Xmx300m -XX:MaxGCPauseMillis=77 -XX:+PrintFlagsFinal -version',
    goal: 'How is the JVM configured?',
    needed: /MaxGCPauseMillis|\bMaxHeapSize/,
    count: 2,
  },
  {
    name: 'passwd-status',
    held: true,
    needs: ['passwd'],
    prepare: `mkdir -p r/etc; echo 'root:x:0:0::/:/bin/sh' > r/etc/passwd; echo 'root:$6$abc$def:20000:0:99999:7:::' > r/etc/shadow; for i in $(upto 150); do echo "\${N[$i]}:x:$((2000+i)):100::/:/bin/sh" >> r/etc/passwd; p='$6$abc$def'; [ $i = 70 ] && p='!'; [ $i = 90 ] && p=''; echo "\${N[$i]}:$p:20000:0:99999:7:::" >> r/etc/shadow; done`,
    command: 'passwd -S -a',
    run: 'passwd --root $PWD/r -S -a',
    goal: 'Who cannot log in?',
    needed: / (?:L|NP) /,
    count: 2,
  },
];
