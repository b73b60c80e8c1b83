"""Words that ask for the same: a table and nothing else."""

from __future__ import annotations

KIN: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split())
    for line in """
    remove delete rm unlink erase discard del löschen lösche entfernen entferne
    largest biggest greatest maximum max highest größte
    smallest least minimum min lowest kleinste
    create make mk generate construct build erzeugen erzeuge erstellen erstelle anlegen
    directory folder dir verzeichnis ordner
    subdirectory subfolder subdirectories subfolders unterordner unterverzeichnis
    current now today aktuelle aktuelles jetzt heute
    start begin launch starten starte
    email mail mails
    download fetch retrieve herunterladen
    string str text zeichenkette
    integer int ganzzahl
    dictionary dict mapping wörterbuch
    error exception fehler ausnahme
    concatenate join combine merge verbinden zusammenfügen
    find search locate suchen suche finden finde
    copy cp duplicate kopieren kopiere
    quit exit terminate stop beenden beende
    length len size länge größe
    average mean durchschnitt mittelwert
    rename move mv umbenennen verschieben
    parse deserialize decode
    serialize encode dump
    environment env umgebung
    argument args arg
    pick choose choice select auswählen
    run execute ausführen
    print display show ausgeben anzeigen
    loop iterate iteration schleife
    random pseudorandom zufällig zufällige zufall
    big large
    small little
    fast quick
    check verify validate prüfen prüfe
    checksum digest prüfsumme
    extension suffix dateiendung
    extract unpack unzip decompress uncompress entpacken
    compress komprimieren packen
    convert transform umwandeln konvertieren
    replace substitute sub ersetzen ersetze
    lowercase lower kleinbuchstaben
    uppercase upper großbuchstaben
    whitespace spaces blanks leerzeichen
    wait pause sleep delay warten warte
    endless infinite forever
    unique distinct
    parallel concurrently concurrent simultaneously gleichzeitig
    symlink symbolic
    stacktrace traceback
    processor cpu cores
    column spalte
    line zeile zeilen
    file datei dateien
    read lesen lese einlesen
    write save schreiben schreibe speichern speichere
    list liste
    number zahl
    sort sortieren sortiere
    split teilen trennen
    date datum
    time uhrzeit zeit
    password passwort kennwort
    send senden sende verschicken
    database db datenbank
    count zählen zähle
    sum summe
    compare vergleichen vergleiche
    difference unterschied
    character char zeichen
    key schlüssel
    value wert
    function funktion
    class klasse
    path pfad
    """.strip().splitlines()
)
"""Words that ask for the same. Only queries are read so: whether two pages agree is not told by them."""
