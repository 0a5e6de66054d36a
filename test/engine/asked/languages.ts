import { type AskedCase, command, mixed } from './texts.ts';

/** How programs report failures in the languages they are translated to. */
const TRANSLATED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  conflict: {
    de: 'KONFLIKT (Inhalt): Merge-Konflikt in src/a.ts',
    fr: 'CONFLIT (contenu) : Conflit de fusion dans src/a.ts',
    es: 'CONFLICTO (contenido): Conflicto de fusión en src/a.ts',
    pt: 'CONFLITO (conteúdo): conflito de mesclagem em src/a.ts',
    it: 'CONFLITTO (contenuto): conflitto di merge in src/a.ts',
    ru: 'КОНФЛИКТ (содержимое): Конфликт слияния в src/a.ts',
    zh: '冲突（内容）：合并冲突于 src/a.ts',
    ja: '競合 (内容): src/a.ts 内でマージが競合しました',
  },
  denied: {
    de: '‘./secret’: Keine Berechtigung',
    fr: '‘./secret’: Permission non accordée',
    es: '‘./secret’: Permiso denegado',
    pt: '‘./secret’: Permissão negada',
    it: '‘./secret’: Permesso negato',
    ru: '‘./secret’: Отказано в доступе',
    zh: '‘./secret’: 权限不够',
    ja: '‘./secret’: 許可がありません',
  },
  absent: {
    de: './lost: Datei oder Verzeichnis nicht gefunden',
    fr: './lost: Aucun fichier ou dossier de ce nom',
    es: './lost: No existe el archivo o el directorio',
    pt: './lost: Arquivo ou diretório inexistente',
    it: './lost: File o directory non esistente',
    ru: './lost: Нет такого файла или каталога',
    zh: './lost: 没有那个文件或目录',
    ja: './lost: そのようなファイルやディレクトリはありません',
  },
  unknown: {
    de: 'Zeile 3: protoc: Kommando nicht gefunden.',
    fr: 'ligne 3: protoc : commande introuvable',
    es: 'línea 3: protoc: orden no encontrada',
    pt: 'linha 3: protoc: comando não encontrado',
    it: 'riga 3: protoc: comando non trovato',
    ru: 'строка 3: protoc: команда не найдена',
    zh: '行 3: protoc: 未找到命令',
    ja: '3 行: protoc: コマンドが見つかりません',
  },
  make: {
    de: '*** [Makefile:12: parser.o] Fehler 1',
    fr: '*** [Makefile:12 : parser.o] Erreur 1',
    es: '*** [Makefile:12: parser.o] Error 1',
    pt: '*** [Makefile:12: parser.o] Erro 1',
    it: '*** [Makefile:12: parser.o] Errore 1',
    ru: '*** [Makefile:12: parser.o] Ошибка 1',
    zh: '*** [Makefile:12：parser.o] 错误 1',
    ja: '*** [Makefile:12: parser.o] エラー 1',
  },
  full: {
    de: 'Schreibfehler: Auf dem Gerät ist kein Speicherplatz mehr verfügbar',
    fr: "erreur d'écriture: Aucun espace disponible sur le périphérique",
    es: 'error de escritura: No queda espacio en el dispositivo',
    pt: 'erro de escrita: Não há espaço disponível no dispositivo',
    it: 'errore di scrittura: Spazio esaurito sul dispositivo',
    ru: 'ошибка записи: На устройстве не осталось свободного места',
    zh: '写入错误：设备上没有空间',
    ja: '書き込みエラー: デバイスに空き領域がありません',
  },
  rejected: {
    de: ' ! [zurückgewiesen]   main -> main (nicht vorzuspulen)',
    fr: ' ! [rejeté]           main -> main (non-fast-forward)',
    es: ' ! [rechazado]        main -> main (no avance rápido)',
    pt: ' ! [rejeitado]        main -> main (não avança rápido)',
    it: ' ! [rifiutato]        main -> main (non-fast-forward)',
    ru: ' ! [отклонено]        main -> main (без перемотки вперёд)',
    zh: ' ! [已拒绝]           main -> main（非快进）',
    ja: ' ! [拒否]             main -> main (non-fast-forward)',
  },
  refused: {
    de: 'connect: Verbindungsaufbau abgelehnt',
    fr: 'connect: Connexion refusée',
    es: 'connect: Conexión rehusada',
    pt: 'connect: Conexão recusada',
    it: 'connect: Connessione rifiutata',
    ru: 'connect: В соединении отказано',
    zh: 'connect: 拒绝连接',
    ja: 'connect: 接続を拒否されました',
  },
};

const names = 'parser lexer token scope emit link bind walk fold trace merge split'.split(' ');
const word = (i: number): string => `${names[i % 12]}-${names[(i * 7) % 12]}${i}`;

/** The programs that print them, each with its other lines. */
const PROGRAMS: readonly {
  readonly command: string;
  readonly says: readonly string[];
  readonly before: string;
  readonly line: (i: number) => string;
}[] = [
  {
    command: 'git merge topic',
    says: ['conflict'],
    before: '',
    line: (i) => `automatischer Merge von src/${word(i)}.ts`,
  },
  {
    command: 'git push --all',
    says: ['rejected'],
    before: '',
    line: (i) =>
      `   ${(0xabc0000 + i * 7919).toString(16)}..${(0xdef0000 + i * 104729).toString(16)}  ${word(i)} -> ${word(i)}`,
  },
  {
    command: 'find . -name "*.o"',
    says: ['denied', 'absent'],
    before: 'find: ',
    line: (i) => `./build/${word(i)}/${word(i * 3)}.o`,
  },
  {
    command: 'grep -rn walk src',
    says: ['denied', 'absent'],
    before: 'grep: ',
    line: (i) =>
      `src/${word(i >> 3)}.ts:${(i % 8) * 7 + 1}:  const ${names[i % 12]}${i} = walk(${names[(i * 5) % 12]});`,
  },
  {
    command: 'make -k',
    says: ['make', 'absent'],
    before: 'make: ',
    line: (i) => `cc -O2 -Wall -c src/${word(i)}.c -o obj/${word(i)}.o`,
  },
  {
    command: 'cp -v -r src dst',
    says: ['full', 'denied'],
    before: 'cp: ',
    line: (i) => `'src/${word(i)}.c' -> 'dst/${word(i)}.c'`,
  },
  {
    command: './ci.sh',
    says: ['unknown', 'refused'],
    before: 'bash: ',
    line: (i) => `step ${i} of the pipeline: ${word(i)} done`,
  },
];

export const languageCases: readonly AskedCase[] = PROGRAMS.flatMap(({ command: line, says, before, line: row }, p) =>
  says.flatMap((what) =>
    Object.entries(TRANSLATED[what] ?? {}).map(([language, message], k): AskedCase => {
      const at = 60 + ((p * 31 + k * 17) % 100);
      const failure = `${before}${message}`;
      return {
        name: `${line}, ${language}: ${what}`,
        goal: 'what is the state of the work?',
        lines: mixed(240, [at], row, () => failure),
        answers: [at],
        hints: command(line),
      };
    }),
  ),
);
