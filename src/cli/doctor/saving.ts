import type { Finding } from '../../app/finding.ts';
import { alarmWords } from '../../core/saving-alarm.ts';
import type { ProxyHealth } from '../run/proxy.ts';

/** The alarm of the proxy that runs, with its cause: many requests with large results in a row saved nothing. */
export function checkSaving(running: Pick<ProxyHealth, 'savingAlarm'> | null): Finding[] {
  return running?.savingAlarm ? [{ level: 'note', ...alarmWords(running.savingAlarm) }] : [];
}
